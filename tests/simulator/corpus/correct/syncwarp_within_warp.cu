// syncwarp_within_warp.cu -- __syncwarp orders lanes of one warp that trade places
//
// twin: syncwarp_between_warps
// launch: grid=1 block=64
// arguments: out float y 64; in float x 64 uniform
// result: y = x.reshape(2, 32)[:, ::-1].ravel()

extern "C" __global__ void syncwarp_within_warp(float* y, const float* x)
{
    __shared__ float cells[64];
    const int t = threadIdx.x;
    cells[t] = x[t];
    __syncwarp();
    y[t] = cells[t ^ 31];
}
