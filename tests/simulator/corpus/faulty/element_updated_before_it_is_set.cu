// element_updated_before_it_is_set.cu -- WRONG ON PURPOSE: the last element of a local array is changed before it is set
//
// fault: uninitialised
// array: a
// launch: grid=1 block=32
// arguments: out unsigned y 32; int n=1

extern "C" __global__ void element_updated_before_it_is_set(unsigned* y, int n)
{
    unsigned a[4];
    for (unsigned i = 0; i < 3u; ++i) {
        a[i] = threadIdx.x + i;
    }
    a[(n * 3) & 3] ^= 5u; // <- here
    unsigned v = 0;
    for (unsigned i = 0; i < 4u; ++i) {
        v = v * 31u + a[i];
    }
    y[threadIdx.x] = v;
}
