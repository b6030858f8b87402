// cholesky_by_a_warp.cu -- one warp factors one matrix in shared memory, a lane for each row
extern "C" __global__ void cholesky_by_a_warp(float* matrices, int n)
{
    __shared__ float a[32][33];
    const int lane = threadIdx.x;
    float* mine = matrices + blockIdx.x * n * n;
    for (int r = 0; r < n; ++r)
        if (lane < n) a[r][lane] = mine[r * n + lane];
    __syncwarp();
    for (int j = 0; j < n; ++j) {
        if (lane == j) a[j][j] = sqrtf(a[j][j]);
        __syncwarp();
        if (lane > j && lane < n) a[lane][j] /= a[j][j];
        __syncwarp();
        if (lane > j && lane < n)
            for (int k = j + 1; k <= lane; ++k) a[lane][k] -= a[lane][j] * a[k][j];
        __syncwarp();
    }
    for (int r = 0; r < n; ++r)
        if (lane < n) mine[r * n + lane] = lane <= r ? a[r][lane] : 0.0f;
}
