/** The API group of metal3's IP address manager. */
const GROUP = 'ipam.metal3.io'
/** Its only version. */
export const API_VERSION = `${GROUP}/v1alpha1`

/** Annotation of a claim, of metal3 or of Cluster API, with the address that it wants. */
export const REQUESTED_ADDRESS_ANNOTATION = 'ipAddress'

/** What `kubectl` calls a kind of the project beside its plural. */
export function shortNames(short: string, singular: string, plural: string): readonly string[] {
  return [
    short,
    singular,
    ...['m3', 'metal3'].flatMap((prefix) => [short, singular, plural].map((name) => prefix + name)),
  ]
}
