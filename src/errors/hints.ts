/** Longer texts are not looked at: no form below is that long, but for lists. */
const MAX_HINTED = 1_000

/**
 * What to write in place of a text that is often pasted, as the end of a message; empty for any
 * other text. Called when a message is read, so that a failure costs nothing more.
 *
 * @param masked what to write in place of an IPv4 address with a netmask
 */
export function hintOf(text: string, masked?: (address: string, length: number) => string): string {
  if (text.length > MAX_HINTED) return ''
  if (text.trim() !== text || text === '')
    return text.trim() === '' ? ': the text is empty' : ': remove the spaces around it'
  const [, address = '', mask = ''] = /^([\d.]+)(?:\/| +)([\d.]+)$/.exec(text) ?? []
  const length = wordOf(address) === undefined ? undefined : lengthOf(mask)
  if (length !== undefined && masked !== undefined) return `: write ${masked(address, length)}`
  const [, first = '', network = '', last = ''] = /^((\d+\.\d+\.\d+\.)\d+)-(\d{1,3})$/.exec(text) ?? []
  if (wordOf(first) !== undefined) return `: write "${first}-${network}${last}"`
  if (/^\[[\da-f:.]+\]$/i.test(text)) return ': write the address without brackets'
  const decimal = text.replace(/\b0+(?=\d)/g, '')
  if (decimal !== text && wordOf(decimal) !== undefined) return `: write "${decimal}" if its octets are decimal`
  const entries = text.split(',')
  if (entries.length > 1 && entries.every(isEntry)) {
    return `: ${entries.length} entries in one text: write a list of ${entries.length} texts`
  }
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return ': a URL: UrlHost.parse reads the address in it'
  const [, host = '', bracketed] = /^(?:([\d.]+)|\[([\da-f:.]+)\]):\d{1,5}$/i.exec(text) ?? []
  if (bracketed !== undefined || wordOf(host) !== undefined) return ': an address with a port: write the address alone'
  return isHostName(text) ? ': a host name, not an address: resolve it first' : ''
}

/** Four octets as one number; `undefined` for any other text. */
function wordOf(text: string): number | undefined {
  const octets = text.split('.')
  const isDotted =
    octets.length === 4 && octets.every((octet) => /^(0|[1-9]\d{0,2})$/.test(octet) && Number(octet) < 256)
  return isDotted ? octets.reduce((word, octet) => word * 256 + Number(octet), 0) : undefined
}

/** The prefix length of a netmask; `undefined` for a text whose bits are not ones before zeros. */
function lengthOf(mask: string): number | undefined {
  const word = wordOf(mask)
  if (word === undefined) return undefined
  const hosts = ~word >>> 0
  return (hosts & (hosts + 1)) === 0 ? Math.clz32(hosts) : undefined
}

/** Whether a text has the characters of an address, a range or a CIDR. */
function isEntry(text: string): boolean {
  return /^\s*(?=[^.:]*[.:])[\da-f.:/-]+\s*$/i.test(text)
}

/** Whether a text is a name of DNS. A mistyped address such as `10.0.0.a` is not one. */
function isHostName(text: string): boolean {
  const labels = text.split('.')
  return (
    text === 'localhost' ||
    (labels.every((label) => /^[a-z\d_]([\w-]{0,61}[a-z\d])?$/i.test(label)) &&
      /^[a-z][a-z\d-]+$/i.test(labels.at(-1) ?? '') &&
      labels.slice(0, -1).some((label) => /[a-z]/i.test(label)))
  )
}
