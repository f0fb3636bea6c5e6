import type { Json } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'
import type { SendRequest } from '../../provider/openstack/index.js'
import type { CloudRequest, CloudResponse } from '../../provider/openstack/neutron/request.js'
import { errorResponse, json, type ParsedRequest, parseRequest } from './http.js'
import { Keystone } from './keystone.js'
import { type FakeUser, NEUTRON_HANDLER_OPTIONS, type NeutronHandlerOptions } from './neutron-options.js'
import type { FakeFloatingIP, FakeNetwork, FakePort } from './objects.js'
import { FakeCloudError, type FakeOperation } from './troubles.js'
import { FakeCloudWorld } from './world.js'

/** A fake cloud behind the APIs of Keystone and Neutron. */
export interface NeutronHandler {
  /** Answers a request. It throws where the answer does not arrive. */
  readonly send: SendRequest
  /** No token is valid any more. */
  revokeTokens(): void
}

type Query = ParsedRequest['query']
type Item = { readonly id: string; readonly [name: string]: Json }
type Answer = readonly [status: number, body: Json]

const MAX_TAG = 60

/**
 * The APIs of Keystone and Neutron over a fake cloud, as far as `neutron` asks them: tokens,
 * networks, subnets, ports, routers, floating IPs and their tags, with pages, filters and revision
 * numbers.
 *
 * @example
 * const cloud = new FakeCloud({ now: () => 0 })
 * const { send } = neutronHandler(cloud, { users: [{ name: 'capo', password: 'secret', project: 'project' }] })
 */
export function neutronHandler(cloud: FakeCloudWorld, options: NeutronHandlerOptions): NeutronHandler {
  if (!(cloud instanceof FakeCloudWorld)) refuseIn('neutronHandler', 'cloud', 'a FakeCloud or a FakeCloudWorld', cloud)
  check('neutronHandler', 'options', options, NEUTRON_HANDLER_OPTIONS)

  const { maxPageSize = 1000 } = options
  const keystone = new Keystone(cloud, options)

  const send = async (request: CloudRequest): Promise<CloudResponse> => {
    const parsed = parseRequest(request)
    try {
      if (parsed.path === '/v3/auth/tokens') return await keystone.authenticate(parsed)
      const user = keystone.userOf(parsed.headers['x-auth-token'] ?? '')
      if (user === undefined) return json(401, { error: { code: 401, message: 'the token is not valid' } })
      const [status, body] = await route(parsed, user)
      return json(status, body)
    } catch (error) {
      if (error instanceof FakeCloudError && error.code !== 'noAnswer') return errorResponse(error)
      throw error
    }
  }
  return { send, revokeTokens: () => keystone.revoke() }

  function route(request: ParsedRequest, user: FakeUser): Promise<Answer> {
    const [, version, collection = '', id, sub, tag] = request.path.split('/')
    const { method } = request
    if (version !== 'v2.0') return Promise.resolve(notFound(request))
    if (collection !== 'floatingips')
      return id === undefined ? listOther(collection, request) : Promise.resolve(notFound(request))
    if (id === undefined) return method === 'POST' ? create(request, user.project) : listFloatingIPs(request, user)
    if (sub === 'tags' && method === 'PUT' && tag !== undefined) return addTag(id, decodeURIComponent(tag), user)
    if (sub !== undefined) return Promise.resolve(notFound(request))
    if (method === 'PUT') return update(id, request, user)
    if (method === 'DELETE') return remove(id, request, user)
    return cloud.perform('showAddress', () => one(owned(id, user)))
  }

  function listFloatingIPs({ query }: ParsedRequest, { project, isAdmin }: FakeUser): Promise<Answer> {
    // a list of a network is that of a pool
    const operation = query.has('floating_network_id') ? 'listAddresses' : 'describeServer'
    return cloud.perform(operation, () => {
      const listed = cloud.listed(isAdmin ? {} : { project }).map(floatingIPJson)
      return page('floatingips', listed, query, [
        'project_id',
        'floating_network_id',
        'floating_ip_address',
        'port_id',
        'description',
      ])
    })
  }

  function listOther(collection: string, request: ParsedRequest): Promise<Answer> {
    const { query } = request
    switch (collection) {
      case 'networks':
        return cloud.perform('findNetwork', () => {
          const wanted = cloud.networks.filter((network) => hasTags(network, query))
          return page(collection, wanted.map(networkJson), query, [
            'id',
            'name',
            'description',
            'project_id',
            'router:external',
          ])
        })
      case 'subnets':
        return Promise.resolve(page(collection, subnets(), query, ['network_id']))
      case 'ports':
        return cloud.perform('describeServer', () => {
          return page(collection, [...cloud.ports, ...routerPorts()].map(portJson), query, [
            'device_id',
            'device_owner',
            'network_id',
          ])
        })
      case 'routers':
        return cloud.perform('describeServer', () => page(collection, cloud.routers.map(routerJson), query, ['id']))
      default:
        return Promise.resolve(notFound(request))
    }
  }

  function create({ body }: ParsedRequest, project: string): Promise<Answer> {
    const { floating_network_id: network, description } = memberOf(body, 'floatingip')
    return cloud.perform('createAddress', (trouble) => {
      const wanted = { network: String(network), project, description: textOf(description) }
      return [201, { floatingip: floatingIPJson(cloud.create(wanted, trouble)) }]
    })
  }

  function update(id: string, { body, headers }: ParsedRequest, user: FakeUser): Promise<Answer> {
    const { description, port_id: port, fixed_ip_address: fixed } = memberOf(body, 'floatingip')
    const operation: FakeOperation =
      port === undefined ? 'markAddress' : port === null ? 'detachFloatingIP' : 'attachFloatingIP'
    return cloud.perform(operation, () => {
      owned(id, user)
      cloud.checkFixed(textOf(port), textOf(fixed))
      const change = {
        ...(description !== undefined && { description: textOf(description) }),
        ...(port !== undefined && { port: textOf(port) }),
      }
      return one(cloud.update(id, change, revisionOf(headers)))
    })
  }

  function remove(id: string, { headers }: ParsedRequest, user: FakeUser): Promise<Answer> {
    return cloud.perform('deleteAddress', () => {
      const { revision } = owned(id, user)
      const wanted = revisionOf(headers)
      if (wanted !== null && wanted !== revision) {
        throw new FakeCloudError('revision', `Constrained to ${wanted}, but current revision is ${revision}`)
      }
      cloud.delete(id)
      return [204, null]
    })
  }

  function addTag(id: string, tag: string, user: FakeUser): Promise<Answer> {
    return cloud.perform('tagAddress', () => {
      owned(id, user)
      if (tag.length > MAX_TAG) throw new FakeCloudError('invalid', `'${tag}' exceeds maximum length of ${MAX_TAG}`)
      cloud.tag(id, [tag])
      return [201, null]
    })
  }

  function owned(id: string, user: FakeUser): FakeFloatingIP {
    const found = cloud.show(id)
    if (found.project !== user.project && !user.isAdmin)
      throw new FakeCloudError('notFound', `floating IP ${id} could not be found`)
    return found
  }

  function subnets(): readonly Item[] {
    if (options.showsSubnets === false) return []
    return cloud.networks.flatMap(({ id, cidrs }) =>
      cidrs.map((cidr, index) => ({ id: cloud.subnetId(id, index), network_id: id, cidr })),
    )
  }

  /** Neutron has a port for each interface of a router. */
  function routerPorts(): readonly FakePort[] {
    return cloud.routers.flatMap(({ id: device, subnets: own }) =>
      own.map((subnet, index) => ({
        id: `${device}-port-${index}`,
        device,
        deviceOwner: 'network:router_interface',
        network: cloud.networkOf(subnet),
        fixedIPs: [{ subnet, address: '10.0.0.1' }],
      })),
    )
  }

  function page(collection: string, items: readonly Item[], query: Query, filters: readonly string[]): Answer {
    const wanted = items.filter((item) =>
      filters.every((name) => !query.has(name) || query.get(name)?.includes(String(item[name] ?? ''))),
    )
    const sorted = [...wanted].sort((a, b) => (a.id < b.id ? -1 : 1))
    const [marker] = query.get('marker') ?? []
    const at = sorted.findIndex(({ id }) => id === marker)
    if (marker !== undefined && at < 0) throw new FakeCloudError('notFound', `${marker} could not be found`)
    const limit = Math.min(Number(query.get('limit')?.[0] ?? maxPageSize), maxPageSize)
    const shown = sorted.slice(at + 1, at + 1 + limit)
    const isLast = at + 1 + limit >= sorted.length
    // as Neutron, which links the first page to one before, too
    const links = [...(isLast ? [] : ['next']), ...(shown.length === 0 ? [] : ['previous'])]
    const linked = links.length > 0 && { [`${collection}_links`]: links.map((rel) => ({ rel, href: '' })) }
    return [200, { [collection]: shown, ...linked }]
  }
}

function one(floatingIP: FakeFloatingIP): Answer {
  return [200, { floatingip: floatingIPJson(floatingIP) }]
}

function notFound({ method, path }: ParsedRequest): Answer {
  return [404, { NeutronError: { type: 'HTTPNotFound', message: `no ${method} of ${path}`, detail: '' } }]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function memberOf(body: unknown, name: string): { readonly [name: string]: unknown } {
  const member =
    typeof body === 'object' && body !== null ? (body as { readonly [name: string]: unknown })[name] : undefined
  if (typeof member !== 'object' || member === null) throw new FakeCloudError('invalid', `the body has no ${name}`)
  return member as { readonly [name: string]: unknown }
}

function revisionOf(headers: ParsedRequest['headers']): number | null {
  const [, revision] = /^revision_number=(\d+)$/u.exec(headers['if-match'] ?? '') ?? []
  return revision === undefined ? null : Number(revision)
}

function hasTags({ tags }: FakeNetwork, query: Query): boolean {
  const named = (name: string) => query.get(name)?.flatMap((text) => text.split(','))
  const has = (tag: string) => tags.includes(tag)
  return (
    (named('tags')?.every(has) ?? true) &&
    (named('tags-any')?.some(has) ?? true) &&
    !(named('not-tags')?.every(has) ?? false) &&
    !(named('not-tags-any')?.some(has) ?? false)
  )
}

function floatingIPJson({
  id,
  address,
  network,
  project,
  description,
  tags,
  port,
  revision,
  createdAtMs,
}: FakeFloatingIP): Item {
  return {
    id,
    floating_ip_address: address,
    floating_network_id: network,
    ...{ project_id: project, tenant_id: project, description, tags },
    ...{ port_id: port === '' ? null : port, fixed_ip_address: null, router_id: null, port_details: null },
    status: port === '' ? 'DOWN' : 'ACTIVE',
    revision_number: revision,
    created_at: new Date(createdAtMs).toISOString().replace(/\.\d+Z$/u, 'Z'),
    port_forwardings: [],
  }
}

function networkJson({ id, name, description, project, tags, isExternal }: FakeNetwork): Item {
  return { id, name, description, project_id: project, tags, 'router:external': isExternal }
}

function portJson({ id, device, deviceOwner, network, fixedIPs }: FakePort): Item {
  const fixed = fixedIPs.map(({ subnet, address }) => ({ subnet_id: subnet, ip_address: address }))
  return { id, device_id: device, device_owner: deviceOwner, network_id: network, fixed_ips: fixed }
}

function routerJson({ id, gatewayNetwork }: { readonly id: string; readonly gatewayNetwork: string }): Item {
  return { id, external_gateway_info: gatewayNetwork === '' ? null : { network_id: gatewayNetwork } }
}
