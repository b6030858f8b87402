// shared_carved_in_three.cu -- one piece of dynamic shared memory as three arrays
//
// launch: grid=2 block=64 shared=832
// arguments: out float y 128; in float x 128 uniform; in int index 128 below=64
// result: y = 2 * np.concatenate([x[:64][index[:64]], x[64:][index[64:]]])

extern "C" __global__ void shared_carved_in_three(float* y, const float* x, const int* index)
{
    extern __shared__ float4 raw[];
    float* cells = reinterpret_cast<float*>(raw);
    int* places = reinterpret_cast<int*>(cells + 64);
    float* doubled = reinterpret_cast<float*>(places + 64); // the first 64 floats + 64 ints, then 80 floats
    const int t = threadIdx.x, i = blockIdx.x * 64 + t;
    cells[t] = x[i];
    places[t] = index[i];
    __syncthreads();
    doubled[t] = 2.0f * cells[places[t]];
    __syncthreads();
    y[i] = doubled[t];
}
