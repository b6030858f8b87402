// switch_machine.cu -- a small machine with a stack: each thread interprets a program of bytes
extern "C" __global__ void switch_machine(int* results, const unsigned char* code,
                                          const int* inputs, int n, int length)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= n) return;
    int a = inputs[id], b = id, c = 1, pc = 0, fuel = 200;
    while (pc < length && fuel-- > 0) {
        switch (code[pc++]) {
        case 0: a += b; break;
        case 1: b = a ^ (b << 3); break;
        case 2: c *= 3; break;
        case 3: a -= c; break;
        case 4:
            if (a & 1) pc++;
            break;
        case 5: b = __popc(a) + c; break;
        case 6: c = a > b ? a - b : b - a; break;
        case 7: a = (int)((unsigned)a >> (b & 7)); break;
        case 8:
            if (c % 5 != 0) pc -= 2;
            if (pc < 0) pc = 0;
            break;
        case 9: a = inputs[(unsigned)(a + b) % n]; break;
        case 10: results[n + id] = a; break;
        default: pc = length; break;
        }
    }
    results[id] = a + 31 * b + 17 * c;
}
