// Lanes leave a loop whose end depends on an atomic or a volatile load, one after another
//
// Each lane counts up to the lowest byte of its own word, which nothing changes: no lane waits for
// another one. FORM says what stands in the loop, around it and behind it.
#define AFTER_LOOP 0
#define IN_BRANCH 1
#define BEFORE_SYNCWARP 2
#define VOLATILE_LOAD 3
#define BEFORE_BRANCH 4
#define IN_LOOP 5
#define STORE_AND_BREAK 6
#define SHARED_ATOMIC 7
#define IN_FUNCTION 8
#define BEFORE_LOOP 9
#define IN_TWO_BRANCHES 10
#define UNUSED_RESULT 11
#define BOUNDED 12
#define PLAIN_LOAD 13
#define BEFORE_SHUFFLE 14
#define BEFORE_BARRIER 15
#define TWO_LOOPS 16
#define IN_LOOP_BY_THREAD 17
#define BRANCH_IN_LOOP 18
#define ONE_LANE 19
#define COMPARE_AND_SWAP 20
#define BEFORE_TWO_WAYS 21
#define BEFORE_CALL 22
#define SLEEPING 23
#define VOLATILE_IN_LOOP 24

#ifndef FORM
#define FORM AFTER_LOOP
#endif

__device__ unsigned lowest_byte(unsigned* word) { return atomicAdd(word, 256u) & 255; }

__device__ __noinline__ int turns_of(unsigned* word)
{
    int turns = 0;
    while (lowest_byte(word) != turns) ++turns;
    return turns;
}

__device__ __noinline__ int loaded(const int* in, int turns) { return in[turns] + in[32 + turns]; }

extern "C" __global__ void lanes_spin(int* out, unsigned* left, const int* in)
{
    const int i = threadIdx.x;
    int turns = 0;
#if FORM == AFTER_LOOP
    while (lowest_byte(&left[i]) != turns) ++turns;
    out[i] = turns;
#elif FORM == IN_BRANCH
    if (i & 1) {
        while (lowest_byte(&left[i]) != turns) ++turns;
        out[32 + i] = in[i];
    }
    out[i] = turns;
#elif FORM == BEFORE_SYNCWARP
    while (lowest_byte(&left[i]) != turns) ++turns;
    __syncwarp();
    out[i] = turns;
#elif FORM == VOLATILE_LOAD
    while (((volatile unsigned*)left)[i] != turns) ++turns;
    out[i] = turns;
#elif FORM == BEFORE_BRANCH
    while (lowest_byte(&left[i]) != turns) ++turns;
    if (in[i] & 1) out[32 + in[i]] = turns + in[32 + i];
    out[i] = turns;
#elif FORM == IN_LOOP
    #pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        turns = 0;
        while (lowest_byte(&left[32 * k + i]) != turns) ++turns;
        out[32 * k + i] = turns;
    }
#elif FORM == STORE_AND_BREAK
    while (true) {
        if (lowest_byte(&left[i]) == turns) {
            out[32 + i] = in[i];
            break;
        }
        ++turns;
    }
    out[i] = turns;
#elif FORM == SHARED_ATOMIC
    __shared__ unsigned word[32];
    word[i] = left[i];
    while (lowest_byte(&word[i]) != turns) ++turns;
    out[i] = turns;
#elif FORM == IN_FUNCTION
    turns = turns_of(&left[i]);
    out[i] = turns;
#elif FORM == BEFORE_LOOP
    while (lowest_byte(&left[i]) != turns) ++turns;
    int sum = 0;
    #pragma unroll 1
    for (int k = 0; k < turns; ++k) sum += in[i + k];
    out[i] = sum;
#elif FORM == IN_TWO_BRANCHES
    if (i < 24) {
        if (i & 1) {
            while (lowest_byte(&left[i]) != turns) ++turns;
        }
        out[32 + i] = in[i];
    }
    out[i] = turns;
#elif FORM == UNUSED_RESULT
    #pragma unroll 1
    for (int k = in[i]; k < 8; ++k) turns += atomicAdd(&left[i], 256u);
    out[i] = turns;
#elif FORM == BOUNDED
    #pragma unroll 1
    for (int k = 0; k < 6; ++k) {
        if (lowest_byte(&left[i]) == turns) break;
        ++turns;
    }
    out[i] = turns;
#elif FORM == PLAIN_LOAD
    while (left[i + 32 * turns] != 0) ++turns;
    out[i] = turns;
#elif FORM == BEFORE_SHUFFLE
    while (lowest_byte(&left[i]) != turns) ++turns;
    turns += __shfl_xor_sync(0xffffffffu, turns, 1);
    out[i] = turns;
#elif FORM == BEFORE_BARRIER
    while (lowest_byte(&left[i]) != turns) ++turns;
    __syncthreads();
    out[i] = turns;
#elif FORM == TWO_LOOPS
    while (lowest_byte(&left[i]) != turns) ++turns;
    out[i] = turns;
    turns = 0;
    while (lowest_byte(&left[32 + i]) != turns) ++turns;
    out[32 + i] = turns;
#elif FORM == IN_LOOP_BY_THREAD
    #pragma unroll 1
    for (int k = in[i] % 3; k < 3; ++k) {
        turns = 0;
        while (lowest_byte(&left[32 * k + i]) != turns) ++turns;
        out[32 * k + i] = turns;
    }
    out[i] = in[32 + i];
#elif FORM == BRANCH_IN_LOOP
    int sum = 0;
    while (lowest_byte(&left[i]) != turns) {
        if (in[i] & 1) {
            #pragma unroll 1
            for (int k = 0; k < (i & 3); ++k) sum += in[i + k];
        }
        ++turns;
    }
    out[i] = turns + sum;
#elif FORM == ONE_LANE
    if (i == 5)
        while (lowest_byte(&left[i]) != turns) ++turns;
    out[i] = turns;
    __syncthreads();
    out[32 + i] = turns;
#elif FORM == COMPARE_AND_SWAP
    unsigned* const word = &left[i & 3];
    unsigned old = *word, seen;
    while ((seen = atomicCAS(word, old, old + 256u)) != old) old = seen;
    out[i] = old & 255;
#elif FORM == BEFORE_TWO_WAYS
    while (lowest_byte(&left[i]) != turns) ++turns;
    if (in[i] & 1) {
        #pragma unroll 1
        for (int k = 0; k < 2; ++k) out[32 + i] = in[i + k];
    } else {
        #pragma unroll 1
        for (int k = 0; k < 3; ++k) out[64 + i] = in[i + k];
    }
    out[i] = turns;
#elif FORM == BEFORE_CALL
    while (lowest_byte(&left[i]) != turns) ++turns;
    turns = loaded(in, turns);
    out[i] = turns;
#elif FORM == SLEEPING
    while (lowest_byte(&left[i]) != turns) {
        ++turns;
        __nanosleep(20);
    }
    out[i] = turns;
#elif FORM == VOLATILE_IN_LOOP
    #pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        turns = 0;
        while (((volatile unsigned*)left)[32 * k + i] != turns) ++turns;
        out[32 * k + i] = turns;
    }
#endif
}
