// int_from_odd_byte.cu -- WRONG ON PURPOSE: a record of 5 bytes: an int behind one byte is not 4-byte aligned
//
// fault: misaligned
// array: records
// launch: grid=1 block=32
// arguments: out int y 32; in uint8 records 160 below=100; int n=32

extern "C" __global__ void int_from_odd_byte(int* y, const unsigned char* records, int n)
{
    const int i = threadIdx.x;
    if (i < n) {
        const unsigned char* value = records + 5 * i + 1;
        y[i] = *reinterpret_cast<const int*>(value); // <- here
    }
}
