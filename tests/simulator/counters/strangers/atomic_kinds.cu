// atomic_kinds.cu -- every kind of integer atomic, results used and not used
extern "C" __global__ void atomic_kinds(int* a, unsigned* b, unsigned long long* c, int* old,
                                        const int* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    atomicAdd(&a[0], v);
    atomicSub(&a[1 + (i & 3)], v);
    atomicMin(&a[5 + (i & 7)], v);
    atomicMax(&a[13 + (i & 1)], v);
    atomicAnd(&b[0], ~(1u << (i & 31)));
    atomicOr(&b[1 + i % 5], 1u << (v & 31));
    atomicXor(&b[6], (unsigned)v);
    atomicInc(&b[7], 12u);
    atomicDec(&b[8], 9u);
    atomicAdd(&c[i % 3], (unsigned long long)v * v);
    atomicMax(&c[3], (unsigned long long)(unsigned)v << 20);
    old[i] = atomicAdd(&a[16 + i], v) + atomicExch(&a[16 + n + i], i);
}
