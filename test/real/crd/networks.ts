import assert from 'node:assert/strict'
import * as IpamKit from '../../../src/crd/ipam-kit/index.js'
import type { CrdModel, KubeObject } from '../../../src/crd/meta/index.js'
import { ClusterCIDR } from '../../../src/crd/node-ipam/index.js'
import { largestStatus, networkStatus } from '../../crd/ipam-kit/networks.js'
import type { Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'

// Ranges of nodes and the view of the cluster network: what only an API server can say of them.

interface Answer extends KubeObject {
  readonly message?: string
  readonly status?: { readonly [field: string]: unknown }
}

type Fields = { readonly [field: string]: unknown }

const MERGE = { contentType: 'application/merge-patch+json' }
const ipv4 = '10.1.0.0/16'
const ipv6 = 'fd00:1:1::/64'
const selectorOf = (value: string) => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: [value] }] }],
})

/** The rules of the definitions in CEL, and who writes which part of a status. */
export async function networkTests(report: Report, server: RealKubernetes): Promise<void> {
  const pathOf = ({ info }: CrdModel<KubeObject>) => `/apis/${info.apiVersion}/${info.plural}`
  const create = (model: CrdModel<KubeObject>, name: string, spec?: Fields) => {
    const { apiVersion, kind } = model.info
    return server.request<Answer>('POST', pathOf(model), { body: { apiVersion, kind, metadata: { name }, spec } })
  }
  const change = (name: string, spec: Fields) =>
    server.request<Answer>('PATCH', `${pathOf(ClusterCIDR)}/${name}`, { ...MERGE, body: { spec } })
  const refuses = async (answer: ReturnType<typeof create>, words: string) => {
    const { status, body } = await answer
    assert.equal(status, 422, JSON.stringify(body))
    assert(body.message?.includes(words), body.message)
  }
  const accepts = async (answer: ReturnType<typeof create>, wanted = 200) => {
    const { status, body } = await answer
    assert.equal(status, wanted, body.message)
    return body
  }

  await report.test('a ClusterCIDR has a spec, a range, and subnets that fit in each range', async () => {
    await refuses(create(ClusterCIDR, 'none'), 'spec: Required value')
    const wrong: readonly (readonly [Fields, string])[] = [
      [{}, 'spec: Invalid value: A CIDR must be specified for ipv4 or ipv6.'],
      [{ ipv4: '', ipv6: '' }, 'A CIDR must be specified for ipv4 or ipv6.'],
      [{ ipv4: '256.256.256.256/33' }, 'IPv4 must be a valid IPv4 CIDR.'],
      [{ ipv6: '::/129' }, 'IPv6 must be a valid IPv6 CIDR.'],
      [{ ipv4: ipv6 }, 'IPv4 must be a valid IPv4 CIDR.'],
      [{ ipv6: ipv4 }, 'IPv6 must be a valid IPv6 CIDR.'],
      [{ ipv4, perNodeHostBits: 3 }, 'spec.perNodeHostBits in body should be greater than or equal to 4'],
      [{ ipv4, perNodeHostBits: 17 }, 'PerNodeHostBits must be less than or equal to the host bits of ipv4.'],
      [{ ipv6, perNodeHostBits: 65 }, 'PerNodeHostBits must be less than or equal to the host bits of ipv6.'],
      [
        { ipv4: '10.0.0.0/8', ipv6: 'fd00::/112', perNodeHostBits: 20 },
        'PerNodeHostBits must be less than or equal to the host bits of ipv6.',
      ],
    ]
    for (const [spec, words] of wrong)
      await refuses(create(ClusterCIDR, 'wrong', { perNodeHostBits: 8, ...spec }), words)
    await accepts(create(ClusterCIDR, 'v4', { ipv4, perNodeHostBits: 16 }), 201)
    await accepts(create(ClusterCIDR, 'v6', { ipv6, perNodeHostBits: 64 }), 201)
    await accepts(create(ClusterCIDR, 'both', { ipv4, ipv6, perNodeHostBits: 8, nodeSelector: selectorOf('a') }), 201)
    return `${wrong.length + 1} objects refused`
  })

  await report.test('nothing of a ClusterCIDR is changed, added or dropped', async () => {
    const nodeSelector = selectorOf('b')
    const changes: readonly (readonly [string, Fields, string])[] = [
      ['v4', { ipv6 }, 'spec.ipv6: Invalid value: IPv6 cannot be changed.'],
      ['v6', { ipv4, perNodeHostBits: 16 }, 'IPv4 cannot be changed.'],
      ['v4', { nodeSelector }, 'spec.nodeSelector: Invalid value: NodeSelector cannot be changed.'],
      ['both', { nodeSelector: null }, 'NodeSelector cannot be changed.'],
      ['both', { nodeSelector }, 'NodeSelector cannot be changed.'],
      ['both', { ipv4: null }, 'IPv4 cannot be changed.'],
      ['both', { ipv6: '' }, 'IPv6 cannot be changed.'],
      ['both', { ipv4: '10.2.0.0/16' }, 'spec.ipv4: Invalid value: "10.2.0.0/16": IPv4 cannot be changed.'],
      ['both', { perNodeHostBits: 9 }, 'PerNodeHostBits cannot be changed.'],
    ]
    for (const [name, spec, words] of changes) await refuses(change(name, spec), words)
    // as a client in Go writes what is left out
    await accepts(change('v4', { ipv6: '' }))
    await accepts(change('v4', { ipv6: null }))
    const body = { metadata: { finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'] } }
    const path = `${pathOf(ClusterCIDR)}/both`
    await accepts(server.request<Answer>('PATCH', path, { ...MERGE, body }))
    await accepts(server.request<Answer>('PATCH', path, { ...MERGE, body: { metadata: { finalizers: null } } }))
    return `${changes.length} changes refused`
  })

  await report.test(
    'the controller and each consumer of a ClusterNetwork write their own parts of its status',
    async () => {
      const { apiVersion, kind } = IpamKit.ClusterNetwork.info
      const path = `${pathOf(IpamKit.ClusterNetwork)}/pods`
      const made = await accepts(create(IpamKit.ClusterNetwork, 'pods'), 201)
      assert.deepEqual(made.spec, {})
      const apply = (manager: string, status: Fields) =>
        server.request<Answer>('PATCH', `${path}/status?fieldManager=${manager}`, {
          contentType: 'application/apply-patch+yaml',
          body: { apiVersion, kind, metadata: { name: 'pods' }, status },
        })
      const answer = (consumer: string, fields: Fields = {}) => ({ cidr: ipv4, consumer, accepted: true, ...fields })
      await accepts(apply('controller', networkStatus))
      await accepts(apply('flannel', { answers: [answer('flannel')] }))
      await accepts(apply('kube-proxy', { answers: [answer('kube-proxy', { accepted: false, reason: 'Overlaps.' })] }))
      const after = await accepts(apply('controller', { ...networkStatus, hash: '00ff' }))
      const { answers, ...own } = after.status ?? {}
      assert.deepEqual(own, { ...networkStatus, hash: '00ff' })
      assert.deepEqual(
        (answers as Fields[]).map(({ consumer, accepted }) => [consumer, accepted]),
        [
          ['flannel', true],
          ['kube-proxy', false],
        ],
      )
      const conflict = await apply('other', { answers: [answer('kube-proxy')] })
      assert.equal(conflict.status, 409, JSON.stringify(conflict.body))
      const form = 'must be a CIDR in canonical form without host bits'
      for (const cidr of ['10.1.0.5/16', 'FD00::/64', 'fd00:0::/64', '10.1.0.0', '10.01.0.0/16']) {
        await refuses(apply('flannel', { answers: [answer('flannel', { cidr })] }), form)
      }
      return undefined
    },
  )

  await report.test('the largest ClusterNetwork is stored', async () => {
    const { apiVersion, kind } = IpamKit.ClusterNetwork.info
    const path = `${pathOf(IpamKit.ClusterNetwork)}/largest`
    const made = await accepts(create(IpamKit.ClusterNetwork, 'largest'), 201)
    const body = { apiVersion, kind, metadata: made.metadata, status: largestStatus() }
    const stored = await accepts(server.request<Answer>('PUT', `${path}/status`, { body }))
    const bytes = Buffer.byteLength(JSON.stringify(stored))
    return `${bytes} bytes`
  })
}
