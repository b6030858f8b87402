// padded_structures.cu -- structures with padding in shared memory: read in another order (FORM 0
// to 2), sorted (3 to 5), and permuted in place (6 to 8)
#ifndef FORM
#define FORM 0
#endif
struct One { char tag; int key; double weight; short side; };          // 24 bytes, 9 of padding
struct Two { float x, y, z; char kind; };                              // 16 bytes
struct __align__(16) Three { float x, y, z; int id; unsigned char c; }; // 32 bytes
#if FORM % 3 == 0
typedef One T;
#elif FORM % 3 == 1
typedef Two T;
#else
typedef Three T;
#endif
#define KEY(t) *(const int*) ((const char*) &(t) + 4)
extern "C" __global__ void padded_structures(T* y, const T* x, int n)
{
    __shared__ T s[128];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
#if FORM / 3 == 0
    y[t] = s[127 - t];
#elif FORM / 3 == 1
    for (int k = 2; k <= 128; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            const int o = t ^ j;
            if (o > t) {
                const bool up = (t & k) == 0;
                if ((KEY(s[t]) > KEY(s[o])) == up) { T a = s[t]; s[t] = s[o]; s[o] = a; }
            }
            __syncthreads();
        }
    y[t] = s[t];
#else
    T mine = s[(t * 5) % 128];
    __syncthreads();
    s[t] = mine;
    __syncthreads();
    y[t] = s[t];
#endif
}
