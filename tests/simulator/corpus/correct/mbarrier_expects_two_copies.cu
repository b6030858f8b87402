// mbarrier_expects_two_copies.cu -- one expectation of 512 bytes, which two copies bring
//
// twin: mbarrier_expects_too_many_bytes
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform
// result: y = x.reshape(2, 128)[:, ::-1].reshape(-1)

typedef unsigned long long Barrier;   // an mbarrier takes 8 bytes

__device__ unsigned shared_address(const void* p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void mbarrier_expects_two_copies(float* y, const float* x)
{
    __shared__ __align__(16) float tile[128];
    __shared__ Barrier arrived;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                     :: "r"(shared_address(&arrived)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();   // nobody may wait at an mbarrier that is not there yet
    if (t == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;"
                     :: "r"(shared_address(&arrived)) : "memory");
        for (int half = 0; half < 2; ++half)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1], 256, [%2];"
                         :: "r"(shared_address(tile + 64 * half)),
                            "l"(x + blockIdx.x * 128 + 64 * half),
                            "r"(shared_address(&arrived)) : "memory");
    }
    asm volatile("{\n"
                 ".reg .pred over;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0;\n"
                 "@!over bra again;\n"
                 "}" :: "r"(shared_address(&arrived)) : "memory");
    y[blockIdx.x * 128 + t] = tile[127 - t];
}
