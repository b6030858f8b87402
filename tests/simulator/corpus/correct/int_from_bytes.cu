// int_from_bytes.cu -- an int put together from its bytes, wherever they lie
//
// twin: int_from_odd_byte
// launch: grid=1 block=32
// arguments: out int y 32; in uint8 records 160 below=100; int n=32
// result: y = np.frombuffer(records.astype(np.uint8).reshape(32, 5)[:, 1:].tobytes(), np.int32)

extern "C" __global__ void int_from_bytes(int* y, const unsigned char* records, int n)
{
    const int i = threadIdx.x;
    if (i < n) {
        const unsigned char* value = records + 5 * i + 1;
        y[i] = value[0] | value[1] << 8 | value[2] << 16 | value[3] << 24;
    }
}
