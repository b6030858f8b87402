// union_of_stages.cu -- a histogram and a scan in the same shared memory
template <class T> struct Scan { T v[64]; };
struct Hist { int bins[32]; };
union Temp { Scan<float> scan; Hist hist; };
extern "C" __global__ void union_of_stages(const float *x, float *sums, int *bins)
{
    __shared__ Temp tmp;
    int t = threadIdx.x;
    if (t < 32) tmp.hist.bins[t] = 0;
    __syncthreads();
    atomicAdd(&tmp.hist.bins[(int)(x[t] * 32)], 1);
    __syncthreads();
    if (t < 32) bins[t] = tmp.hist.bins[t];
    __syncthreads();
    tmp.scan.v[t] = x[t];
    __syncthreads();
    float s = 0;
    for (int k = 0; k <= t; k++) s += tmp.scan.v[k];
    sums[t] = s;
}
