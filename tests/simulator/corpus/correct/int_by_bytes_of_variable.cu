// int_by_bytes_of_variable.cu -- an int is stored at the start of a variable, by way of its bytes
//
// twin: int_past_odd_byte_of_variable
// launch: grid=1 block=1
// arguments: inout int y 1 zeros
// result: y = [0]

__device__ int cell;

extern "C" __global__ void int_by_bytes_of_variable(int* y)
{
    *reinterpret_cast<int*>(reinterpret_cast<char*>(&cell) + 0) = y[0];
}
