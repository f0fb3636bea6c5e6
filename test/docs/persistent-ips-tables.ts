import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { readNetwork, type VMClaimSituation, vmClaimDecision } from 'ipam-kit/provider/persistent-ip'

const source = fileURLToPath(new URL('../../src/provider/persistent-ip/', import.meta.url))

/** What the doc comment of a type says of each of its texts: a row has the text and its meaning. */
export function meaningsOf(file: string, type: string): readonly (readonly [name: string, meaning: string])[] {
  const [before = '', after = ''] = readFileSync(source + file, 'utf8').split(`export type ${type} =`)
  const comment = before.slice(before.lastIndexOf('/**'))
  const bullets = comment.split(/^ \* - /m).slice(1)
  const rows = bullets.map((bullet) => {
    const [text = ''] = bullet.split(/^ \*(?:\/|$)/m)
    const [, name = '', meaning = ''] = /^`(\w+)`: ([\s\S]*)$/.exec(text.replace(/\n \*\s+/g, ' ').trim()) ?? []
    return [name, meaning] as const
  })
  const [declaration = ''] = after.split(/\n\n/)
  const texts = new Set([...declaration.matchAll(/'([A-Za-z]\w+)'/g)].map(([, text = '']) => text))
  const unnamed = rows.find(([name]) => !texts.has(name))
  if (unnamed !== undefined) throw new Error(`${type} has no ${unnamed[0]}`)
  // a union of objects has texts that are no reasons
  const unexplained = /^\s*\| \{/.test(declaration) ? 0 : texts.size - rows.length
  if (unexplained !== 0) throw new Error(`${type} has ${unexplained} texts without a meaning`)
  return rows
}

const [EXISTS, DELETED, MISSING] = ['exists', 'is being deleted', 'does not exist'] as const
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] }

function object(kind: string, uid: string, state: string, rest: object): KubeObject | undefined {
  const metadata = { namespace: 'a', name: 'vm1', uid, ...(state === EXISTS ? {} : GOING) }
  return state === MISSING ? undefined : { apiVersion: 'kubevirt.io/v1', kind, metadata, ...rest }
}

/** What happens with the claims of a machine in each state, as `vmClaimDecision` decides it. */
export function machineStates(): readonly (readonly string[])[] {
  return [EXISTS, DELETED, MISSING].flatMap((state) => {
    const rows: { readonly instances: string[]; readonly claims: string }[] = []
    for (const instance of [EXISTS, `${DELETED} with active Pods`, `${DELETED} without active Pods`, MISSING]) {
      const claims = fateOf(state, instance)
      const last = rows.at(-1)
      if (last?.claims === claims && instance !== MISSING) last.instances.push(instance)
      else rows.push({ instances: [instance], claims })
    }
    // one that exists in all its states is one that exists
    return rows.map(({ instances, claims }) => [
      state,
      instances.length === 3 ? EXISTS : instances.join(', or '),
      claims,
    ])
  })
}

function fateOf(state: string, instanceState: string): string {
  const machine = object('VirtualMachine', 'm', state, { spec: { template: {} } })
  const networks = [{ name: 'net', multus: { networkName: 'blue' } }]
  const activePods = instanceState.includes('without') ? {} : { p: 'n1' }
  const instance = object('VirtualMachineInstance', 'i', instanceState, { spec: { networks }, status: { activePods } })
  const config = '{"name":"lab","type":"macvlan","allowPersistentIPs":true}'
  const definition = readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } })
  if (!definition.ok) throw new Error('no network')
  const name = { ok: true, value: 'vm1.net' } as const
  const claims = [{ network: 'net', definition: definition.value, isPrimary: false, name }]
  const wanted = instance && { claims, missing: [], unreadable: [] }
  const situation = { namespace: 'a', name: 'vm1', machine, instance, wanted, claims: [] } as VMClaimSituation
  const [first] = vmClaimDecision(situation).steps
  if (first?.kind === 'make') {
    const [owner] = first.claim.metadata.ownerReferences ?? []
    const after = vmClaimDecision({ ...situation, claims: [first.claim] }).steps.map(({ kind }) => kind)
    if (after.join() !== 'keep') throw new Error(`a claim that is made is not kept: ${after}`)
    return `are made and kept, owned by the ${owner?.kind === 'VirtualMachine' ? 'machine' : 'instance'}`
  }
  const made = vmClaimDecision({
    ...situation,
    machine: undefined,
    ...runningInstance(networks),
    wanted: { claims, missing: [], unreadable: [] },
  })
  const claim = made.steps.flatMap((step) => (step.kind === 'make' ? [step.claim] : []))
  const [fate] = vmClaimDecision({ ...situation, claims: claim }).steps
  return fate?.kind === 'release' ? 'are released' : fate?.kind === 'keep' ? 'stay as they are' : `${fate?.kind}`
}

function runningInstance(networks: readonly object[]) {
  const instance = object('VirtualMachineInstance', 'i', EXISTS, {
    spec: { networks },
    status: { activePods: { p: 'n1' } },
  })
  return { instance } as Pick<VMClaimSituation, 'instance'>
}
