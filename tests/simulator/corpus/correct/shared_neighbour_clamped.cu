// shared_neighbour_clamped.cu -- the last thread has no right neighbour and uses its own cell
//
// twin: shared_neighbour_past_end
// launch: grid=2 block=128
// arguments: out float y 256; in float x 256 uniform
// result: y = np.concatenate([np.append(part[1:], part[-1]) for part in np.split(x, 2)])

extern "C" __global__ void shared_neighbour_clamped(float* y, const float* x)
{
    __shared__ float cells[128];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    cells[t] = x[i];
    __syncthreads();
    y[i] = cells[min(t + 1, 127)];
}
