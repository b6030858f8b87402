// flag_published_with_fence.cu -- two blocks, the second to come reads what the first published: fence and atomic on either
//     side
//
// twin: flag_published_without_fence
// launch: grid=2 block=1
// arguments: inout int y 1 zeros; inout int data 2 zeros; inout int arrived 1 zeros
// result: y = [30]
// result: data = [10, 20]

extern "C" __global__ void flag_published_with_fence(int* y, int* data, int* arrived)
{
    data[blockIdx.x] = 10 * (blockIdx.x + 1);
    __threadfence();
    if (atomicAdd(arrived, 1) == 1) {
        __threadfence();
        *y = static_cast<volatile int*>(data)[0] + static_cast<volatile int*>(data)[1];
    }
}
