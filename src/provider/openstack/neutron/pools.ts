import * as z from 'zod'
import type { Json } from '../../../crd/meta/object.js'
import { plain } from '../../../errors/quote.js'
import type { Cloud, CloudAddress, CloudNetwork, SeenAddress } from '../../external/cloud.js'
import { type AnsweredFloatingIP, FLOATING_IP, NETWORK, ONE_FLOATING_IP } from './answers.js'
import { idOf, type NeutronCall } from './call.js'
import { fitsMarker, markerIn, newDescription, withMarker } from './description.js'
import { failCall } from './failure.js'
import type { SubnetCache } from './subnets.js'
import type { Tagger } from './tags.js'

type Input<K extends keyof Cloud> = Cloud[K] extends (input: infer I) => unknown ? I : never

const names = z.array(z.string().min(1)).optional()
/**
 * `floatingIPNetwork` of a pool. Unknown members are refused: a filter without them would match
 * more.
 */
const NETWORK_PARAM = z.union([
  z.null(),
  z.strictObject({ id: z.string().min(1) }),
  z.strictObject({
    filter: z
      .strictObject({
        name: z.string().optional(),
        description: z.string().optional(),
        projectID: z.string().optional(),
        tags: names,
        tagsAny: names,
        notTags: names,
        notTagsAny: names,
      })
      .refine((filter) => Object.values(filter).some((value) => value !== undefined)),
  }),
])

export interface PoolCalls {
  /** One call of the adapter, with the credentials of a pool. */
  readonly begin: (access: Json) => NeutronCall
  readonly subnets: SubnetCache
  readonly tagger: Tagger
}

/** The calls of pools over Neutron. */
export function poolCalls({ begin, subnets, tagger }: PoolCalls): Cloud {
  return {
    findNetwork({ access, network }) {
      const call = begin(access)
      return call.answer(false, () => findNetwork(call, network))
    },
    listAddresses(input) {
      const call = begin(input.access)
      return call.answer(false, () => listAddresses(call, input))
    },
    createAddress(input) {
      const call = begin(input.access)
      return call.answer(true, () => createAddress(call, input))
    },
    markAddress({ access, pool, seen, marker }) {
      const call = begin(access)
      return call.answer(true, async () => {
        return addressOf(await tagger.tagged(call, pool, await mark(call, seen, marker)))
      })
    },
    deleteAddress({ access, seen }) {
      const call = begin(access)
      return call.answer(true, () => deleteAddress(call, seen))
    },
  }

  async function listAddresses(call: NeutronCall, { pool, network, markers }: Input<'listAddresses'>) {
    const project = await call.project()
    const query = { floating_network_id: network, ...(project !== '' && { project_id: project }) }
    const problems: string[] = []
    const listed = await call.list('floatingips', query, FLOATING_IP, problems)
    const texts = listed.map((it) => it.floating_ip_address)
    const wrong = listed.length === 0 ? new Map<string, string>() : await subnets.check(call, network, texts)
    const right = listed.filter((it) => !wrong.has(it.floating_ip_address))
    const tagged = await tagger.allTagged(call, pool, markers, right)
    const left = listed.filter((it) => wrong.has(it.floating_ip_address))
    problems.push(...left.map((it) => problemText(it, wrong)))
    return { addresses: tagged.map(addressOf), ...(problems.length > 0 && { problems }) }
  }

  async function createAddress(
    call: NeutronCall,
    { pool, network, marker }: Input<'createAddress'>,
  ): Promise<CloudAddress> {
    const description = newDescription(pool, marker)
    if (!fitsMarker(description, marker)) {
      const text = `the description of a floating IP cannot have the marker ${plain(marker, 100)}`
      return failCall(text, { retryable: false })
    }
    const body = { floatingip: { floating_network_id: network, description } }
    const what = `create a floating IP in network ${plain(network, 100)}`
    const asked = { what, method: 'POST', path: '/v2.0/floatingips', body } as const
    const { floatingip: created } = await call.ask(asked, ONE_FLOATING_IP)
    checkNetwork(created, network)
    if (markerIn(created.description) !== marker) {
      return discard(call, created, 'Neutron has not stored its description, which has the marker', false)
    }
    const wrong = await subnets.check(call, network, [created.floating_ip_address])
    if (wrong.size > 0) return discard(call, created, problemText(created, wrong), true)
    return addressOf(await tagger.tagged(call, pool, created))
  }
}

/** Refuses a floating IP of another network. It is not deleted: it may have another owner. */
function checkNetwork(created: AnsweredFloatingIP, network: string): void {
  const { id, floating_ip_address: address, floating_network_id: answered } = created
  const what = `Neutron has answered the creation with floating IP ${plain(id, 100)}, ${plain(address, 100)},`
  if (answered !== network) failCall(`${what} of another network: ${plain(answered, 100)}`, { retryable: true })
}

/**
 * Deletes a floating IP that this call has created, and fails: then the call has no effect. If it
 * cannot be deleted, each attempt could leave one more, so none follows.
 *
 * @param retryable whether the next creation may succeed
 */
async function discard(
  call: NeutronCall,
  { id, floating_ip_address: address, revision_number: revision }: AnsweredFloatingIP,
  problem: string,
  retryable: boolean,
): Promise<never> {
  const what = `delete floating IP ${plain(id, 100)}, ${plain(address, 100)}`
  const undone = await call.answer(false, () =>
    call.undo({ what, method: 'DELETE', path: pathOf(id), revision, expected: [404] }),
  )
  const message = `the cloud has created an address that cannot be used: ${problem}`
  if (undone.ok) return failCall(message, { retryable })
  return failCall(`${message}; delete it by hand: ${undone.failure.message}`, { retryable: false })
}

async function findNetwork(call: NeutronCall, network: Json): Promise<CloudNetwork> {
  const notFound = (why: string) =>
    failCall(`unable to find the network: ${why}`, { retryable: false, reason: 'PoolNotReady' })
  const read = NETWORK_PARAM.safeParse(network)
  if (!read.success) return notFound('floatingIPNetwork has to have either an id or a filter, with known members')
  const query = read.data === null ? {} : 'id' in read.data ? { id: read.data.id } : filterQuery(read.data.filter)
  const listed = await call.list('networks', { 'router:external': 'true', ...query }, NETWORK)
  const found = listed.filter((it) => it['router:external'] !== false)
  const [only] = found
  const asked = network === null ? '' : ` for ${plain(JSON.stringify(network), 200)}`
  if (only === undefined) return notFound(`there is no external network${asked}`)
  if (found.length > 1) {
    const ids = found.slice(0, 5).map(({ id }) => plain(id, 100))
    return notFound(`there are ${found.length} external networks${asked}: ${ids.join(', ')}`)
  }
  return { id: only.id, name: only.name, tags: only.tags }
}

type NetworkParam = Exclude<z.infer<typeof NETWORK_PARAM>, null>
function filterQuery({
  name,
  description,
  projectID,
  ...filter
}: Extract<NetworkParam, { readonly filter: unknown }>['filter']) {
  return {
    ...{ name, description, project_id: projectID },
    ...{ tags: filter.tags?.join(','), 'tags-any': filter.tagsAny?.join(',') },
    ...{ 'not-tags': filter.notTags?.join(','), 'not-tags-any': filter.notTagsAny?.join(',') },
  }
}

async function mark(call: NeutronCall, seen: SeenAddress, marker: string): Promise<AnsweredFloatingIP> {
  const what = `mark floating IP ${plain(seen.id, 100)}`
  const before = await show(call, what, seen.id)
  if (before === undefined) return failCall(`cannot ${what}: it does not exist`, { retryable: true })
  checkSeen(what, before, seen)
  const { id, revision_number: revision } = before
  const description = withMarker(before.description, marker)
  if (description === before.description) return before
  if (!fitsMarker(description, marker)) {
    return failCall(`cannot ${what}: its description has no room for the marker ${plain(marker, 100)}`, {
      retryable: true,
    })
  }
  const body = { floatingip: { description } }
  const asked = { what, method: 'PUT', path: pathOf(id), body, revision } as const
  const { floatingip } = await call.ask(asked, ONE_FLOATING_IP)
  return floatingip
}

/** @throws CallFailure for a floating IP that was changed since the pool has seen it */
function checkSeen(what: string, found: AnsweredFloatingIP, { marker, revision }: SeenAddress): void {
  const has = markerIn(found.description)
  if (has !== marker) {
    failCall(`cannot ${what}: its marker was changed to ${plain(has, 100) || 'none'}`, { retryable: true })
  }
  if (revision !== '' && revision !== revisionOf(found)) {
    const now = revisionOf(found) ?? 'none'
    failCall(`cannot ${what}: its revision was changed from ${plain(revision, 20)} to ${now}`, { retryable: true })
  }
}

async function deleteAddress(call: NeutronCall, seen: SeenAddress): Promise<Json> {
  const { id } = seen
  const what = `delete floating IP ${plain(id, 100)}`
  const found = await show(call, what, id)
  if (found === undefined) return {}
  checkSeen(what, found, seen)
  const { floating_ip_address: address, revision_number: revision } = found
  if (isAttached(found)) {
    return failCall(`cannot ${what}: ${plain(address, 100)} is attached to port ${plain(found.port_id, 100)}`, {
      retryable: true,
    })
  }
  // a floating IP that was attached meanwhile has another revision
  await call.send({ what, method: 'DELETE', path: pathOf(id), revision, expected: [404] })
  return {}
}

/** A floating IP as it is now; `undefined`: it does not exist. */
export async function show(call: NeutronCall, what: string, id: string): Promise<AnsweredFloatingIP | undefined> {
  return (await call.find(what, pathOf(id), ONE_FLOATING_IP))?.floatingip
}

export function pathOf(id: string): string {
  return `/v2.0/floatingips/${idOf(id)}`
}

function isAttached({ port_id, port_forwardings }: AnsweredFloatingIP): boolean {
  return port_id !== '' || (port_forwardings ?? []).length > 0
}

function problemText(
  { id, floating_ip_address: address }: AnsweredFloatingIP,
  wrong: ReadonlyMap<string, string>,
): string {
  return `${plain(address, 100)} of floating IP ${plain(id, 100)} ${wrong.get(address)}`
}

function addressOf(answered: AnsweredFloatingIP): CloudAddress {
  const revision = revisionOf(answered)
  return {
    id: answered.id,
    address: answered.floating_ip_address,
    network: answered.floating_network_id,
    marker: markerIn(answered.description),
    isAttached: isAttached(answered),
    tags: answered.tags,
    ...(revision !== undefined && { revision }),
  }
}

function revisionOf({ revision_number: revision }: AnsweredFloatingIP): string | undefined {
  return revision === undefined ? undefined : String(revision)
}
