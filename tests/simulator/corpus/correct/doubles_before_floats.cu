// doubles_before_floats.cu -- dynamic shared memory carved into arrays, the widest first
//
// twin: doubles_after_odd_floats
// launch: grid=1 block=31 shared=372
// arguments: out double y 31; in float x 31 uniform
// result: y = np.square(x[::-1].astype(np.float64))

extern "C" __global__ void doubles_before_floats(double* y, const float* x)
{
    extern __shared__ unsigned char raw[];
    double* squares = reinterpret_cast<double*>(raw);
    float* cells = reinterpret_cast<float*>(squares + blockDim.x);
    const int t = threadIdx.x;
    cells[t] = x[t];
    squares[t] = double(cells[t]) * cells[t];
    __syncthreads();
    y[t] = squares[blockDim.x - 1 - t];
}
