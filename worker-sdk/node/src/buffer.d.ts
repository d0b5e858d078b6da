// Methods every Node Buffer has that its type definitions leave out.
interface Buffer {
  utf8Write(text: string, offset?: number, length?: number): number
  utf8Slice(start?: number, end?: number): string
  latin1Slice(start?: number, end?: number): string
}
