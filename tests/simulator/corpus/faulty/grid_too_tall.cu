// grid_too_tall.cu -- WRONG ON PURPOSE: 70,000 blocks in y: 65,535 at most; x takes two billion
//
// fault: resources
// launch: grid=1x70000 block=1
// arguments: inout int y 1 zeros

extern "C" __global__ void grid_too_tall(int* y)
{
    atomicAdd(y, 1);
}
