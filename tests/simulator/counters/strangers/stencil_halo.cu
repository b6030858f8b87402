// stencil_halo.cu -- seven neighbours, by a tile with halos
#define R 3
extern "C" __global__ void stencil_halo(const int *in, int *out, int n)
{
    __shared__ int s[128 + 2 * R];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int l = threadIdx.x + R;
    s[l] = i < n ? in[i] : 0;
    if (threadIdx.x < R) {
        int left = i - R, right = i + blockDim.x;
        s[l - R] = left >= 0 ? in[left] : 0;
        s[l + blockDim.x] = right < n ? in[right] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int d = -R; d <= R; d++) sum += s[l + d];
    if (i < n) out[i] = sum;
}
