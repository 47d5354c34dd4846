/* CUDA's half on the host: storage of 16 bits, arithmetic through float, rounded to nearest even. */
#pragma once

#include <cstring>

inline unsigned short
cuda_half_bits(_Float16 value)
{
    unsigned short bits;
    memcpy(&bits, &value, sizeof bits);
    /* Converting a NaN gives CUDA's canonical one. */
    return (bits & 0x7fff) > 0x7c00 ? 0x7fff : bits;
}

inline _Float16
cuda_half_value(unsigned short bits)
{
    _Float16 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct __half_raw {
    unsigned short x;
};

struct __half {
    unsigned short bits;
    __half() = default;
    __half(const __half_raw &raw) : bits(raw.x) {}
    __half(float v) : bits(cuda_half_bits((_Float16)v)) {}
    __half(double v) : bits(cuda_half_bits((_Float16)v)) {}
    __half(int v) : bits(cuda_half_bits((_Float16)v)) {}
    __half(unsigned v) : bits(cuda_half_bits((_Float16)v)) {}
    __half(long long v) : bits(cuda_half_bits((_Float16)v)) {}
    __half(unsigned long long v) : bits(cuda_half_bits((_Float16)v)) {}
    operator float() const { return (float)cuda_half_value(bits); }
    operator __half_raw() const { return {bits}; }
};
typedef __half half;

inline float __half2float(__half v) { return v; }
inline __half __float2half(float v) { return v; }
inline __half __float2half_rn(float v) { return v; }
inline __half __double2half(double v) { return v; }
inline unsigned short __half_as_ushort(__half v) { return v.bits; }
inline __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
inline bool __hisnan(__half v) { return (v.bits & 0x7fff) > 0x7c00; }
inline int __hisinf(__half v) { return v.bits == 0x7c00 ? 1 : v.bits == 0xfc00 ? -1 : 0; }
inline __half __hadd(__half a, __half b) { return (float)a + (float)b; }
inline __half __hsub(__half a, __half b) { return (float)a - (float)b; }
inline __half __hmul(__half a, __half b) { return (float)a * (float)b; }
inline __half __hadd_rn(__half a, __half b) { return (float)a + (float)b; }
inline __half __hsub_rn(__half a, __half b) { return (float)a - (float)b; }
inline __half __hmul_rn(__half a, __half b) { return (float)a * (float)b; }
inline __half __hdiv(__half a, __half b) { return (float)a / (float)b; }
