// spmv_ell_padded.cu -- a sparse product, rows padded to one length
extern "C" __global__ void spmv_ell_padded(int rows, int width, const int *col, const float *val, const float *x, float *y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++) {
            int c = col[k * rows + r];
            if (c >= 0)
                sum += val[k * rows + r] * x[c];
        }
        y[r] = sum;
    }
}
