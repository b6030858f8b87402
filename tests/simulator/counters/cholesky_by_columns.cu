// cholesky_by_columns.cu -- one warp factors a matrix in shared memory: FORM 0 subtracts a column
// from all later ones, FORM 1 gathers the sums of a column when its turn comes
#ifndef FORM
#define FORM 0
#endif
extern "C" __global__ void cholesky_by_columns(float* matrices, int n)
{
    __shared__ float a[32 * 33];
    const int lane = threadIdx.x;
    float* mine = matrices + blockIdx.x * n * n;
    for (int j = lane; j < n * n; j += 32) a[j / n * 33 + j % n] = mine[j];
    __syncwarp();
#if FORM == 0
    for (int k = 0; k < n; ++k) {
        const float pivot = sqrtf(a[k * 33 + k]);
        __syncwarp();
        if (lane == k) a[k * 33 + k] = pivot;
        if (lane > k && lane < n) a[lane * 33 + k] /= pivot;
        __syncwarp();
        for (int j = k + 1; j < n; ++j)
            if (lane >= j && lane < n) a[lane * 33 + j] -= a[lane * 33 + k] * a[j * 33 + k];
        __syncwarp();
    }
#else
    for (int j = 0; j < n; ++j) {
        if (lane >= j && lane < n) {
            float sum = a[lane * 33 + j];
            for (int k = 0; k < j; ++k) sum -= a[lane * 33 + k] * a[j * 33 + k];
            a[lane * 33 + j] = sum;
        }
        __syncwarp();
        const float pivot = sqrtf(a[j * 33 + j]);
        __syncwarp();
        if (lane == j) a[j * 33 + j] = pivot;
        if (lane > j && lane < n) a[lane * 33 + j] /= pivot;
        __syncwarp();
    }
#endif
    for (int j = lane; j < n * n; j += 32) mine[j] = a[j / n * 33 + j % n];
}
