// element_set_before_it_is_updated.cu -- every element of a local array is set before one of them is changed
//
// twin: element_updated_before_it_is_set
// launch: grid=1 block=32
// arguments: out unsigned y 32; int n=1
// result: y = [((((np.uint32(t) * 31 + t + 1) * 31 + t + 2) * 31 + ((t + 3) ^ 5))) & 0xFFFFFFFF for t in range(32)]

extern "C" __global__ void element_set_before_it_is_updated(unsigned* y, int n)
{
    unsigned a[4];
    for (unsigned i = 0; i < 4u; ++i) {
        a[i] = threadIdx.x + i;
    }
    a[(n * 3) & 3] ^= 5u;
    unsigned v = 0;
    for (unsigned i = 0; i < 4u; ++i) {
        v = v * 31u + a[i];
    }
    y[threadIdx.x] = v;
}
