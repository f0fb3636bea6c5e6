/** What a text means: the family and the value of an address. */
export interface Meaning {
  readonly family: 4 | 6
  readonly value: bigint
}

/**
 * The grammar of an address written down a second time, with `split`, regular expressions and
 * BigInt: slow, and plain enough to be checked by eye. Shares no code and no technique with the
 * scanners of src/cidr.
 */
export function readAddress(text: string): Meaning | undefined {
  const value4 = read4(text)
  if (value4 !== undefined) return { family: 4, value: value4 }
  const value6 = read6(text)
  return value6 === undefined ? undefined : { family: 6, value: value6 }
}

/** The same for a CIDR. */
export function readPrefix(text: string): (Meaning & { readonly length: number }) | undefined {
  const [head, tail, ...more] = text.split('/')
  const address = readAddress(head as string)
  if (address === undefined || tail === undefined || more.length > 0 || !/^(0|[1-9][0-9]*)$/.test(tail))
    return undefined
  const length = Number(tail)
  return length > (address.family === 4 ? 32 : 128) ? undefined : { ...address, length }
}

function read4(text: string): bigint | undefined {
  const octets = text.split('.')
  if (octets.length !== 4) return undefined
  if (!octets.every((octet) => /^(0|[1-9][0-9]{0,2})$/.test(octet) && Number(octet) <= 255)) return undefined
  return octets.reduce((value, octet) => value * 256n + BigInt(octet), 0n)
}

function read6(text: string): bigint | undefined {
  const dotted = read4(text.slice(text.lastIndexOf(':') + 1))
  const hex =
    dotted === undefined
      ? text
      : `${text.slice(0, text.lastIndexOf(':') + 1)}${(dotted >> 16n).toString(16)}:${(dotted & 0xffffn).toString(16)}`
  const halves = hex.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const written = halves.flat()
  if (halves.length > 2 || !written.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined
  if (halves.length === 1 ? written.length !== 8 : written.length > 7) return undefined
  const elided = Array<string>(8 - written.length).fill('0')
  const groups = [...(halves[0] as string[]), ...elided, ...(halves[1] ?? [])]
  return groups.reduce((value, group) => value * 0x10000n + BigInt(`0x${group}`), 0n)
}
