// int_past_odd_byte_of_variable.cu -- WRONG ON PURPOSE: an int is stored one byte behind the start of a variable
//
// fault: misaligned
// array: cell
// launch: grid=1 block=1
// arguments: inout int y 1 zeros

__device__ int cell;

extern "C" __global__ void int_past_odd_byte_of_variable(int* y)
{
    *reinterpret_cast<int*>(reinterpret_cast<char*>(&cell) + 1) = y[0]; // <- here
}
