import { Address } from 'ipam-kit/cidr'
import {
  networkOfDefinitions,
  type PodAttachmentOptions,
  podAttachments,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { definitionOf, nadOf, ovn } from './definitions.js'

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'
const DEFAULT = 'v1.multus-cni.io/default-network'
const DEPRECATED = 'k8s.ovn.org/primary-udn-ipamclaim'

function network(rest: object = {}, ...nads: readonly string[]) {
  return networkOfDefinitions(
    (nads.length === 0 ? ['ns1/nad1'] : nads).map((nad) => ({
      definition: definitionOf(readNetwork(nadOf(ovn({ netAttachDefName: nad, ...rest }), nad))),
    })),
  )
}
const primary = network({ role: 'primary', allowPersistentIPs: true })

function asked(annotations: { readonly [name: string]: string }, of = network(), options: PodAttachmentOptions = {}) {
  const pod = { metadata: { name: 'p', namespace: 'ns1', annotations }, spec: {} }
  return podAttachments(pod, of, options)
}

function problemOf(read: ReturnType<typeof asked>): string {
  if (read.ok || read.failure.code !== 'INVALID_OBJECT') return expect.unreachable()
  return read.failure.context.issues.map(({ path, message }) => `${path}: ${message}`).join()
}

describe('the attachments of a Pod', () => {
  test('are the elements that name a definition of the network', () => {
    const text =
      '[{"name":"nad1","mac":"0a:58:0a:00:00:07","interface":"net1","ipam-claim-reference":"vm1.net"},{"name":"x"}]'
    expect(asked({ [NETWORKS]: text })).toEqual({
      ok: true,
      value: {
        isInNetwork: true,
        attachments: [
          { key: 'ns1/nad1', nad: 'ns1/nad1', interface: 'net1', ips: [], mac: '0a:58:0a:00:00:07', claim: 'vm1.net' },
        ],
      },
    })
    expect(asked({})).toEqual({ ok: true, value: { isInNetwork: false, attachments: [] } })
  })

  test('of one definition have keys of their own; a localnet has one', () => {
    const read = asked({ [NETWORKS]: 'nad1,ns1/nad1, nad1' })
    expect(read.ok && read.value.attachments.map(({ key }) => key)).toEqual(['ns1/nad1', 'ns1/nad1/1', 'ns1/nad1/2'])
    expect(problemOf(asked({ [NETWORKS]: 'nad1,nad1' }, network({ topology: 'localnet' })))).toContain('multiple times')
  })

  test('of a Pod in the network of its Node are none', () => {
    const pod = { metadata: { name: 'p', namespace: 'ns1', annotations: { [NETWORKS]: 'nad1' } } }
    expect(podAttachments({ ...pod, spec: { hostNetwork: true } }, network())).toMatchObject({
      value: { isInNetwork: false },
    })
  })

  test('in the default network are that of its annotation, or none', () => {
    const cluster = network({ topology: '' })
    expect(asked({}, cluster)).toMatchObject({ value: { isInNetwork: true, attachments: [] } })
    expect(asked({ [DEFAULT]: 'kube-system/other' }, cluster)).toMatchObject({
      value: { attachments: [{ key: 'kube-system/other' }] },
    })
    expect(problemOf(asked({ [DEFAULT]: 'a,b' }, cluster))).toContain('more than one default network')
  })

  test('whose annotation cannot be read are a failure', () => {
    expect(asked({ [NETWORKS]: '[{' })).toMatchObject({ failure: { code: 'MALFORMED_EMBEDDED_JSON' } })
    expect(asked({ [NETWORKS]: '[{"name":"nad1","ipam-claim-reference":"a/b"}]' }).ok).toBe(false)
  })
})

describe('the attachment in the primary network', () => {
  const claimOf = (annotations: { readonly [name: string]: string }, options: PodAttachmentOptions = {}) => {
    const read = asked(annotations, primary, { primary, ...options })
    return read.ok ? read.value.attachments.map(({ claim }) => claim) : problemOf(read)
  }
  const element = (rest: object) => JSON.stringify([{ name: 'default', namespace: 'ovn-kubernetes', ...rest }])

  test('names its claim in one of two annotations, the deprecated one last', () => {
    expect(claimOf({})).toEqual([undefined])
    expect(claimOf({ [DEPRECATED]: 'old' })).toEqual(['old'])
    expect(claimOf({ [DEPRECATED]: 'old', [DEFAULT]: element({}) })).toEqual(['old'])
    expect(claimOf({ [DEPRECATED]: 'old', [DEFAULT]: element({ 'ipam-claim-reference': 'new' }) })).toEqual(['new'])
    expect(claimOf({ [DEPRECATED]: '' })).toEqual([undefined])
  })

  test('has no claim where the network does not honour claims', () => {
    const plain = network({ role: 'primary' })
    expect(asked({ [DEPRECATED]: 'old' }, plain, { primary: plain })).toMatchObject({
      value: { attachments: [{ key: 'ns1/nad1', ips: [] }] },
    })
  })

  test('has addresses and a MAC address on request, where requests are allowed', () => {
    const annotations = { [DEFAULT]: element({ ips: ['10.0.0.7/24'], mac: '0a:58:0a:00:00:07' }) }
    const [none, both] = [false, true].map((staticRequests) => asked(annotations, primary, { primary, staticRequests }))
    expect(none).toMatchObject({ value: { attachments: [{ ips: [] }] } })
    expect(both).toMatchObject({
      value: {
        attachments: [{ ips: [{ address: Address.parse('10.0.0.7'), prefixLength: 24 }], mac: '0a:58:0a:00:00:07' }],
      },
    })
    const routed = network({ role: 'primary', topology: 'layer3', subnets: '10.0.0.0/16' })
    expect(asked(annotations, routed, { primary: routed, staticRequests: true })).toMatchObject({
      value: { attachments: [{ ips: [], mac: '0a:58:0a:00:00:07' }] },
    })
  })

  test('is refused where the annotation names another default network', () => {
    const staticRequests = true
    expect(claimOf({ [DEFAULT]: element({ namespace: 'x' }) }, { staticRequests })).toContain(
      'unexpected default NSE namespace "x", expected "ovn-kubernetes"',
    )
    expect(claimOf({ [DEFAULT]: element({ name: 'x' }) }, { staticRequests })).toContain('default NSE name "x"')
    const options = { staticRequests, defaultNetworkNamespace: 'x' }
    expect(claimOf({ [DEFAULT]: element({ namespace: 'x' }) }, options)).toEqual([undefined])
  })

  test('has the definition in the namespace of the Pod', () => {
    const shared = network({ role: 'primary' }, 'ns0/nad1', 'ns1/nad1')
    expect(asked({}, shared, { primary: shared })).toMatchObject({ value: { attachments: [{ key: 'ns1/nad1' }] } })
    const other = network({ role: 'primary' }, 'ns0/nad1')
    expect(problemOf(asked({}, other, { primary: other }))).toContain('no active NAD found for namespace "ns1"')
  })

  test('is never named in the network selection', () => {
    expect(problemOf(asked({ [NETWORKS]: 'nad1' }, primary, { primary }))).toContain('unexpected primary network "lab"')
  })

  test('is not that of another network', () => {
    const other = network({ name: 'other' })
    expect(asked({}, other, { primary })).toMatchObject({ value: { isInNetwork: false } })
  })
})
