// grid_wide.cu -- 70,000 blocks in x
//
// twin: grid_too_tall
// launch: grid=70000 block=1
// arguments: inout int y 1 zeros
// result: y = [70000]

extern "C" __global__ void grid_wide(int* y)
{
    atomicAdd(y, 1);
}
