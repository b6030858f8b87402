// work_item_replaced_too_early.cu -- WRONG ON PURPOSE: thread 0 takes the next row while others still read the number of this one
//
// fault: race
// array: row
// launch: grid=3 block=64
// arguments: inout int next 1 zeros; inout float sums 20 zeros; in float x 20x90 integers

extern "C" __global__ void work_item_replaced_too_early(int* next, float* sums, const float* x)
{
    __shared__ int row;
    while (true) {
        if (threadIdx.x == 0) {
            row = atomicAdd(next, 1); // <- here
        }
        __syncthreads();
        if (row >= 20) { // <- here
            break;
        }
        float sum = 0.0f;
        for (int k = threadIdx.x; k < 90; k += blockDim.x) {
            sum += x[row * 90 + k]; // <- here
        }
        atomicAdd(&sums[row], sum); // <- here
    }
}
