// copies.cuh -- copies of several cells by one instruction, in the background (lab 302) or not
//
// A copy by cp.async goes from global to shared memory. The thread that starts it goes on at once,
// and no register holds the cells meanwhile. `commit_copies` makes a group of the copies that the
// thread has started since the last group, and groups arrive in the order in which they were made.
// A thread waits for its own copies only: those of other threads are there after a barrier.
//
// It needs compute capability 8.0.
#pragma once

// The address within shared memory: what the instructions below want.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// Starts the copy of BYTES bytes, 4, 8 or 16; both addresses are multiples of BYTES. The first
// `read` bytes are read, the others become zeros: 0 for cells beyond the end of an array.
template <int BYTES>
__device__ __forceinline__ void start_copy(unsigned to, const void* from, int read)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(to), "l"(from), "n"(BYTES), "r"(read) : "memory");
}

// The same for 16 bytes that are not kept in the L1 cache, because nobody reads them there again.
__device__ __forceinline__ void start_copy_past_l1(unsigned to, const void* from, int read)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(read) : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;");
}

// Waits until all groups of this thread but the last LEFT are there.
template <int LEFT = 0>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(LEFT) : "memory");
}

// Reads four neighbouring cells by one instruction. Both addresses are multiples of 16.
__device__ __forceinline__ void read_four(float* to, const float* from)
{
    *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from);
}
