// halo_vectors.h -- CUDA's vector types: one copy is as many memory accesses as on the GPU
//
// A host compiler would copy a struct member by member, and the engine would see four 4-byte loads where the GPU makes one of
// 16 bytes. So a copy goes through one register of the vector's own size: one access of 2, 4, 8 or 16 bytes, two of 16 for
// double4 and its like. Types of three members are aligned to one member on a GPU, and are copied member by member there too.
#pragma once
#include "halo_math.h"

namespace halo {
typedef std::uint8_t register1 __attribute__((may_alias));
typedef std::uint16_t register2 __attribute__((may_alias));
typedef std::uint32_t register4 __attribute__((may_alias));
typedef std::uint64_t register8 __attribute__((may_alias));
typedef std::uint64_t register16 __attribute__((vector_size(16), may_alias));
template <std::size_t Size> struct Register { using type = register16; };
template <> struct Register<1> { using type = register1; };
template <> struct Register<2> { using type = register2; };
template <> struct Register<4> { using type = register4; };
template <> struct Register<8> { using type = register8; };
template <class V> HALO_INLINE void copy(V* to, const V* from) {
    using R = typename Register<sizeof(V)>::type;
    for (std::size_t i = 0; i < sizeof(V) / sizeof(R); ++i) reinterpret_cast<R*>(to)[i] = reinterpret_cast<const R*>(from)[i];
}
// A single member in braces: `float4 v = {1};` is right and `float4 v = 1;` is not, as with an aggregate. The second would need two
// conversions of ours.
template <class T> struct Only {
    T value;
    constexpr Only(T v) : value(v) {}
};
}    // namespace halo

// The default constructor is constexpr, or g++ gives each shared array of vectors a guard variable that the engine would see read.
#define HALO_VECTOR1(V, T)                                                                                                 \
    struct V { T x; };                                                                                                     \
    HALO_INLINE constexpr V make_##V(T x) { return V{x}; }

#define HALO_VECTOR2(V, T)                                                                                                 \
    struct alignas(2 * sizeof(T)) V {                                                                                      \
        T x, y;                                                                                                            \
        constexpr V() : x(), y() {}                                                                                        \
        constexpr V(halo::Only<T> first) : x(first.value), y() {}                                                          \
        constexpr V(T vx, T vy) : x(vx), y(vy) {}                                                                          \
        HALO_INLINE V(const V& other) { halo::copy(this, &other); }                                                        \
        HALO_INLINE V& operator=(const V& other) { halo::copy(this, &other); return *this; }                               \
    };                                                                                                                     \
    HALO_INLINE constexpr V make_##V(T x, T y) { return V(x, y); }

#define HALO_VECTOR3(V, T)                                                                                                 \
    struct V {                                                                                                             \
        T x, y, z;                                                                                                         \
        constexpr V() : x(), y(), z() {}                                                                                   \
        constexpr V(halo::Only<T> first) : x(first.value), y(), z() {}                                                     \
        constexpr V(T vx, T vy, T vz = {}) : x(vx), y(vy), z(vz) {}                                                       \
        HALO_INLINE constexpr V(const V& other) : x(other.x), y(other.y), z(other.z) {}                                    \
        HALO_INLINE constexpr V& operator=(const V& other) {                                                               \
            T ox = other.x, oy = other.y, oz = other.z;                                                                    \
            x = ox, y = oy, z = oz;                                                                                        \
            return *this;                                                                                                  \
        }                                                                                                                  \
    };                                                                                                                     \
    HALO_INLINE constexpr V make_##V(T x, T y, T z) { return V(x, y, z); }

#define HALO_VECTOR4(V, T)                                                                                                 \
    struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) V {                                                            \
        T x, y, z, w;                                                                                                      \
        constexpr V() : x(), y(), z(), w() {}                                                                              \
        constexpr V(halo::Only<T> first) : x(first.value), y(), z(), w() {}                                                \
        constexpr V(T vx, T vy, T vz = {}, T vw = {}) : x(vx), y(vy), z(vz), w(vw) {}                                    \
        HALO_INLINE V(const V& other) { halo::copy(this, &other); }                                                        \
        HALO_INLINE V& operator=(const V& other) { halo::copy(this, &other); return *this; }                               \
    };                                                                                                                     \
    HALO_INLINE constexpr V make_##V(T x, T y, T z, T w) { return V(x, y, z, w); }

#define HALO_VECTORS(NAME, T) HALO_VECTOR1(NAME##1, T) HALO_VECTOR2(NAME##2, T) HALO_VECTOR3(NAME##3, T) HALO_VECTOR4(NAME##4, T)

HALO_VECTORS(char, signed char)
HALO_VECTORS(uchar, unsigned char)
HALO_VECTORS(short, short)
HALO_VECTORS(ushort, unsigned short)
HALO_VECTORS(int, int)
HALO_VECTORS(uint, unsigned)
HALO_VECTORS(long, long)
HALO_VECTORS(ulong, unsigned long)
HALO_VECTORS(longlong, long long)
HALO_VECTORS(ulonglong, unsigned long long)
HALO_VECTORS(float, float)
HALO_VECTORS(double, double)
using double4_16a = double4;

#undef HALO_VECTORS
#undef HALO_VECTOR1
#undef HALO_VECTOR2
#undef HALO_VECTOR3
#undef HALO_VECTOR4
