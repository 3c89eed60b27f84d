// crc_step: one byte into a check sum of CRC-32.
unsigned crc_step(unsigned crc, unsigned char byte) {
  crc ^= byte;
  for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  return crc;
}
