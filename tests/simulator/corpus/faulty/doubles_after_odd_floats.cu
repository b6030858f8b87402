// doubles_after_odd_floats.cu -- WRONG ON PURPOSE: dynamic shared memory carved into 31 floats and then doubles: they start
//     at byte 124
//
// fault: misaligned
// array: raw
// launch: grid=1 block=31 shared=372
// arguments: out double y 31; in float x 31 uniform

extern "C" __global__ void doubles_after_odd_floats(double* y, const float* x)
{
    extern __shared__ unsigned char raw[];
    float* cells = reinterpret_cast<float*>(raw);
    double* squares = reinterpret_cast<double*>(cells + blockDim.x);
    const int t = threadIdx.x;
    cells[t] = x[t];
    squares[t] = double(cells[t]) * cells[t]; // <- here
    __syncthreads();
    y[t] = squares[blockDim.x - 1 - t];
}
