import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { admitIPAddress, admitIPAddressClaim, type ClaimLookup, IPAddress } from '../../../src/crd/cluster-api/index.js'
import {
  admitClusterNetwork,
  admitIPBlock,
  admitIPDomain,
  admitIPHandle,
  admitIPPool,
  ClusterNetwork,
  IPBlock,
  IPDomain,
  IPHandle,
  IPPool,
} from '../../../src/crd/ipam-kit/index.js'
import { type Admission, type CrdModel, groupOf, type KubeObject } from '../../../src/crd/meta/index.js'
import * as NodeIpam from '../../../src/crd/node-ipam/index.js'
import {
  type AdmissionRequest,
  answerAdmissionReview,
  answerConversionReview,
  parseAdmissionReview,
} from '../../../src/crd/webhook/index.js'
import { isIpamError } from '../../../src/errors/index.js'
import { createAuthority } from '../servers/certificates.js'

/** Finds the claim of a name. */
export type FindClaim = (namespace: string, name: string) => Promise<ClaimLookup>

/** The webhooks of the kinds of Cluster API and of our own, on 127.0.0.1. */
export interface ReviewServer {
  readonly url: string
  /** PEM in base64. */
  readonly caBundle: string
  /** How many reviews of each path were answered. */
  readonly answered: { [path: string]: number }
  close(): Promise<void>
}

export async function startReviewServer(
  models: readonly CrdModel<KubeObject>[],
  find: FindClaim,
): Promise<ReviewServer> {
  const authority = createAuthority('ipam-kit-test-reviews')
  const { cert, key } = authority.issue({ commonName: 'reviews' }, 'server')
  const answered: { [path: string]: number } = {}
  const server = createServer({ cert, key }, async (request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?')
    try {
      const body = JSON.parse(await textOf(request))
      const answer = path === '/convert' ? answerConversionReview(body, models) : await answerAdmission(body, find)
      answered[path] = (answered[path] ?? 0) + 1
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
    } catch (error) {
      response.writeHead(isIpamError(error) ? 400 : 500).end(String(error))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the webhooks have no port')
  return {
    url: `https://127.0.0.1:${address.port}`,
    caBundle: Buffer.from(authority.cert).toString('base64'),
    answered,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answerAdmission(body: unknown, find: FindClaim) {
  const request = parseAdmissionReview(body)
  if (request.kind.group === groupOf(IPPool.info.apiVersion)) return answerAdmissionReview(request, admitOwn(request))
  if (request.kind.group === groupOf(NodeIpam.ClusterCIDR.info.apiVersion)) {
    return answerAdmissionReview(request, NodeIpam.admitClusterCIDR(readWith(NodeIpam.ClusterCIDR, request)))
  }
  if (request.kind.kind === 'IPAddressClaim') return answerAdmissionReview(request, admitIPAddressClaim(request))
  if (request.operation !== 'CREATE') return answerAdmissionReview(request, admitIPAddress(request))
  return answerAdmissionReview(request, admitIPAddress({ ...request, claim: await claimOf(request, find) }))
}

/** Our own kinds, each without what a webhook could look up. */
function admitOwn(request: AdmissionRequest): Admission {
  switch (request.kind.kind) {
    case 'IPPool':
      return admitIPPool(readWith(IPPool, request))
    case 'IPBlock':
      return admitIPBlock(readWith(IPBlock, request))
    case 'IPDomain':
      return admitIPDomain(readWith(IPDomain, request))
    case 'IPHandle':
      return admitIPHandle(readWith(IPHandle, request))
    case 'ClusterNetwork':
      return admitClusterNetwork(readWith(ClusterNetwork, request))
    default:
      throw new Error(`no rules for ${request.kind.kind}`)
  }
}

type Read<T> =
  | { readonly operation: 'CREATE'; readonly object: T }
  | { readonly operation: 'UPDATE'; readonly object: T; readonly oldObject: T }
  | { readonly operation: 'DELETE'; readonly oldObject: T }

function readWith<T extends KubeObject>(model: CrdModel<T>, request: AdmissionRequest): Read<T> {
  switch (request.operation) {
    case 'CREATE':
      return { operation: 'CREATE', object: model.parse(request.object) }
    case 'UPDATE':
      return { operation: 'UPDATE', object: model.parse(request.object), oldObject: model.parse(request.oldObject) }
    case 'DELETE':
      return { operation: 'DELETE', oldObject: model.parse(request.oldObject) }
  }
}

async function claimOf(
  { object, namespace = '' }: AdmissionRequest & { readonly operation: 'CREATE' },
  find: FindClaim,
): Promise<ClaimLookup> {
  const address = IPAddress.safeParse(object)
  return address.ok ? find(namespace, address.value.spec.claimRef.name) : { kind: 'absent' }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request.setEncoding('utf8')) text += part
  return text
}
