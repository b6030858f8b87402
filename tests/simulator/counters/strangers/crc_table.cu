// crc_table.cu -- CRC of rows of bytes, its table of 16 words static in the function
extern "C" __global__ void crc_table(unsigned* crcs, const unsigned char* rows, int length,
                                     int count)
{
    static const unsigned table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                       0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                       0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count) return;
    unsigned crc = ~0u;
    for (int i = 0; i < length; i++) {
        unsigned char c = rows[row * length + i];
        crc = table[(crc ^ c) & 15] ^ (crc >> 4);
        crc = table[(crc ^ (c >> 4)) & 15] ^ (crc >> 4);
    }
    crcs[row] = ~crc;
}
