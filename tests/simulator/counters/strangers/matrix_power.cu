// matrix_power.cu -- small matrices (5 x 5 of doubles) raised to powers, loops over local arrays
#define D 5
extern "C" __global__ void matrix_power(double* out, const double* in, const int* powers, int count)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count) return;
    double base[D][D], result[D][D], temp[D][D];
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            base[i][j] = in[t * D * D + i * D + j];
            result[i][j] = i == j;
        }
    for (int p = powers[t]; p > 0; p >>= 1) {
        if (p & 1) {
            for (int i = 0; i < D; i++)
                for (int j = 0; j < D; j++) {
                    double s = 0;
                    for (int k = 0; k < D; k++) s += result[i][k] * base[k][j];
                    temp[i][j] = s;
                }
            for (int i = 0; i < D; i++)
                for (int j = 0; j < D; j++) result[i][j] = temp[i][j];
        }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) {
                double s = 0;
                for (int k = 0; k < D; k++) s += base[i][k] * base[k][j];
                temp[i][j] = s;
            }
        for (int i = 0; i < D; i++)
            for (int j = 0; j < D; j++) base[i][j] = temp[i][j];
    }
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) out[t * D * D + i * D + j] = result[i][j];
}
