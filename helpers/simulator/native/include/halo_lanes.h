// halo_lanes.h -- which thread of its block and which lane of its warp this is
//
// A source may define macros with short names before it includes this: no name in here is shorter than three letters.
#pragma once
#include "halo_vectors.h"
#include "halo_warp.h"

extern "C" {
std::uint32_t halo_thread_index(int axis) __attribute__((const));
std::uint32_t halo_block_index(int axis) __attribute__((const));
std::uint32_t halo_block_dim(int axis) __attribute__((const));
std::uint32_t halo_grid_dim(int axis) __attribute__((const));
void halo_syncthreads(std::uint32_t line);
void halo_assert_fail(const char* expression, const char* file, unsigned line);
}

extern "C++" {
namespace halo {
HALO_INLINE unsigned thread_rank() {
    return halo_thread_index(0) + halo_block_dim(0) * (halo_thread_index(1) + halo_block_dim(1) * halo_thread_index(2));
}
HALO_INLINE unsigned threads_of_block() { return halo_block_dim(0) * halo_block_dim(1) * halo_block_dim(2); }
HALO_INLINE unsigned lane_number() { return thread_rank() & 31; }
template <class...> constexpr bool never = false;
}    // namespace halo
}
