// work_item_kept_by_all.cu -- blocks take rows from a counter until none is left
//
// twin: work_item_replaced_too_early
// launch: grid=3 block=64
// arguments: inout int next 1 zeros; inout float sums 20 zeros; in float x 20x90 integers
// result: sums = x.sum(1)

extern "C" __global__ void work_item_kept_by_all(int* next, float* sums, const float* x)
{
    __shared__ int row;
    while (true) {
        if (threadIdx.x == 0) {
            row = atomicAdd(next, 1);
        }
        __syncthreads();
        if (row >= 20) {
            break;
        }
        float sum = 0.0f;
        for (int k = threadIdx.x; k < 90; k += blockDim.x) {
            sum += x[row * 90 + k];
        }
        atomicAdd(&sums[row], sum);
        __syncthreads();
    }
}
