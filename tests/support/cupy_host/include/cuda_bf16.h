/* CUDA's bfloat16 on the host: the upper half of a float, rounded to nearest even. */
#pragma once

#include <cstring>

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float v)
    {
        unsigned word;
        memcpy(&word, &v, sizeof word);
        bits = v != v ? 0x7fff : (unsigned short)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
    operator float() const
    {
        unsigned word = (unsigned)bits << 16;
        float value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
};

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
inline __nv_bfloat16
__ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 v;
    v.bits = bits;
    return v;
}
inline bool __hisnan(__nv_bfloat16 v) { return (v.bits & 0x7fff) > 0x7f80; }
inline int __hisinf(__nv_bfloat16 v) { return v.bits == 0x7f80 ? 1 : v.bits == 0xff80 ? -1 : 0; }
