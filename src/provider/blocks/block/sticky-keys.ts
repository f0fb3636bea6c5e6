import type { IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'

/** The keys by which a returning owner is recognised. */
export function stickyKeys(row: Pick<IPBlockRow, 'mac' | 'owner' | 'kind' | 'interface'>): readonly string[] {
  const owner = `owner ${row.kind ?? 'Pod'} ${row.owner} ${row.interface ?? ''}`
  return row.mac === undefined ? [owner] : [`mac ${row.mac.toLowerCase()}`, owner]
}
