/* CUB's reading of a tile: each thread has neighbours. */
#pragma once

namespace cub {

enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT };

template <class T, int threads, int items, BlockLoadAlgorithm> struct BlockLoad {
    struct TempStorage {
        unsigned char none;
    };
    BlockLoad(TempStorage &)
    {
    }

    template <class From> void Load(const From *from, T (&into)[items], int there, T otherwise)
    {
        for (int k = 0; k < items; k++) {
            const int place = threadIdx.x * items + k;
            into[k] = place < there ? T(from[place]) : otherwise;
        }
    }
};

} // namespace cub
