// halo_vectors.h -- float2, float4, int4 ...: one copy is one memory access, as on the GPU
//
// A host compiler would copy a struct member by member, and the engine would see four 4-byte loads where the GPU makes one of
// 16 bytes. So copies go through a register of the vector's own size.
#pragma once

namespace halo {
typedef std::uint64_t register8 __attribute__((may_alias));
typedef std::uint64_t register16 __attribute__((vector_size(16), may_alias));
template <std::size_t Size> struct Register;
template <> struct Register<8> { using type = register8; };
template <> struct Register<16> { using type = register16; };
template <class V> inline __attribute__((always_inline)) void copy(V* to, const V* from) {
    using R = typename Register<sizeof(V)>::type;
    *reinterpret_cast<R*>(to) = *reinterpret_cast<const R*>(from);
}
}    // namespace halo

// The default constructor is constexpr, or g++ gives each shared array of vectors a guard variable that the engine would see read.
#define HALO_COPYING(V)                                        \
    V(const V& other) { halo::copy(this, &other); }            \
    V& operator=(const V& other) { halo::copy(this, &other); return *this; }

#define HALO_VECTOR2(V, T)                                     \
    struct alignas(2 * sizeof(T)) V {                          \
        T x, y;                                                \
        constexpr V() : x(), y() {}                            \
        HALO_COPYING(V)                                        \
        V(T vx, T vy) : x(vx), y(vy) {}                        \
    };                                                         \
    inline V make_##V(T x, T y) { return V(x, y); }

#define HALO_VECTOR4(V, T)                                     \
    struct alignas(4 * sizeof(T)) V {                          \
        T x, y, z, w;                                          \
        constexpr V() : x(), y(), z(), w() {}                  \
        HALO_COPYING(V)                                        \
        V(T vx, T vy, T vz, T vw) : x(vx), y(vy), z(vz), w(vw) {} \
    };                                                         \
    inline V make_##V(T x, T y, T z, T w) { return V(x, y, z, w); }

HALO_VECTOR2(float2, float)
HALO_VECTOR2(int2, int)
HALO_VECTOR2(uint2, unsigned)
HALO_VECTOR2(double2, double)
HALO_VECTOR4(float4, float)
HALO_VECTOR4(int4, int)
HALO_VECTOR4(uint4, unsigned)
