// flag_published_without_fence.cu -- WRONG ON PURPOSE: the second block reads what the first published, but no fence put the
//     data before the counter
//
// fault: race
// array: data
// launch: grid=2 block=1
// arguments: inout int y 1 zeros; inout int data 2 zeros; inout int arrived 1 zeros

extern "C" __global__ void flag_published_without_fence(int* y, int* data, int* arrived)
{
    data[blockIdx.x] = 10 * (blockIdx.x + 1); // <- here
    if (atomicAdd(arrived, 1) == 1) {
        *y = static_cast<volatile int*>(data)[0] + static_cast<volatile int*>(data)[1]; // <- here
    }
}
