import { Address, Prefix } from 'ipam-kit/cidr'
import { type IPPool, readRows } from 'ipam-kit/crd/whereabouts'
import type { Case, Difference, Rule } from '../differences.js'
import { callsIn, faultsIn, keysIn, madePools, type StepCall } from './calls-in.js'

/**
 * Where the plugin differs from what was recorded. Each rule holds for what its text there says.
 */
export const cniRules: readonly Rule[] = [
  {
    heading: 'Errors have codes of their own, and their version',
    holds: ({ path, theirs, ours }) =>
      (/stdout(\.\d+)?\.code$/.test(path) && theirs === 999 && typeof ours === 'number') ||
      (/stdout(\.\d+)?\.cniVersion$/.test(path) && theirs === undefined),
  },
  {
    heading: 'What gives nothing creates no pool',
    holds: ({ path, ours, recorded, own }) => {
      const key = /^\.(IPPool\/\S+?)\.(apiVersion|kind|metadata|spec)\b/.exec(path)?.[1] ?? ''
      const pool = recorded.final[key] as { readonly spec: { readonly allocations?: object } } | undefined
      const isEmpty = pool !== undefined && Object.keys(pool.spec.allocations ?? {}).length === 0
      return ours === undefined && isEmpty && own.final[key] === undefined
    },
  },
  {
    heading: 'GC, STATUS and CHECK do their work',
    holds: ({ path, recorded }) => {
      const call = callAt(path, recorded)
      return call !== undefined && ['GC', 'STATUS', 'CHECK'].includes(call.command)
    },
  },
  {
    heading: 'Reservations name their container, and those of other interfaces are foreign',
    holds: (difference) =>
      /^\.OverlappingRangeIPReservation\/\S+\.spec\.(containerid|ifname)$/.test(difference.path)
        ? difference.theirs === undefined
        : isGiving(difference) && hasTwoInterfaces(difference.recorded),
  },
  about('The network namespace of the plugin is refused first', ({ recorded }) =>
    adds(recorded).some(({ text }) => text.includes('NS_PATH=/proc/self/ns/net')),
  ),
  about('Configurations without a clear meaning are refused', ({ own, recorded }) =>
    refusedAlone(own, recorded, 'INVALID_IPAM_CONFIG'),
  ),
  about('A result that the version cannot express is not given', ({ own, recorded }) =>
    refusedAlone(own, recorded, 'CNI_RESULT_MISMATCH'),
  ),
  about('Asked addresses are given', ({ recorded }) =>
    adds(recorded).some(({ text }) => /"ips":|ipam-claim-reference|ARGS='[^']*\bIP=/.test(text)),
  ),
  about('Node slices honour the whole range', ({ recorded }) =>
    callsIn(recorded).some(({ text }) => text.includes('node_slice_size')),
  ),
  about('Gateways and static addresses are not given', ({ recorded }) => adds(recorded).some(givesGateway)),
  about('An address beyond 2^64 has no row', ({ own }) =>
    adds(own).some(({ stdout }) => /2\^64 or more above/.test(stdout)),
  ),
  about('A range that is listed twice gives two addresses', ({ recorded }) =>
    adds(recorded).some(({ addresses }) => new Set(addresses).size < addresses.length),
  ),
  about('A pool counts from its own address', ({ recorded }) => madePools(recorded).some(isOfAnotherBase)),
  about('Rows that cannot be read stay', ({ recorded, own }) => [recorded, own].some(hasOddKey)),
  about('A row of an address that is not usable is not answered', hasUnusableRow),
  about('All foreign reservations are listed once', ({ recorded, own }) => {
    const foreign = Object.keys(own.final).filter((key) => key.startsWith('OverlappingRangeIPReservation/'))
    return foreign.length > 26 && succeedsAlone(own, recorded, /rate limiter|deadline|time limit/)
  }),
  about('A DEL that cannot reach the store fails', ({ recorded, own }) =>
    callsIn(recorded).some((call) => call.command === 'DEL' && call.exit === 0 && sameCall(own, call)?.exit === 1),
  ),
  about('An ADD takes no Lease and lists no pools', ({ recorded, own }) =>
    succeedsAlone(own, recorded, /cannot list resource|leader/),
  ),
  about('A new pool is created with its row', ({ recorded, own }) =>
    succeedsAlone(own, recorded, /cannot patch resource \\"ippools\\"/),
  ),
  about('Another container of a Pod gets another address', ({ recorded }) => hasTwoContainers(recorded)),
  about(
    'A success has its row and its reservation',
    ({ recorded, own }) => faultsIn(recorded).length > 0 && faultsIn(own).length === 0,
  ),
]

/** A rule about addresses that calls give and free, in cases of some kind. */
function about(heading: string, holds: (difference: Difference) => boolean): Rule {
  return { heading, holds: (difference) => isGiving(difference) && holds(difference) }
}

/** Whether it is about an answer, a row or a reservation. */
function isGiving({ path }: Difference): boolean {
  return /^step \d+( stdout\b.*)?$|^\.(IPPool|OverlappingRangeIPReservation)\//.test(path)
}

function adds(one: Case): readonly StepCall[] {
  return callsIn(one).filter(({ command }) => command === 'ADD')
}

function callAt(path: string, one: Case): StepCall | undefined {
  const [, step] = /^step (\d+)/.exec(path) ?? []
  return step === undefined ? undefined : callsIn(one).find((call) => call.step === Number(step))
}

function sameCall(one: Case, { step }: StepCall): StepCall | undefined {
  return callsIn(one).find((call) => call.step === step)
}

/** Whether an ADD is refused here with a code of the library, and upstream has answered success. */
function refusedAlone(own: Case, recorded: Case, code: string): boolean {
  return adds(own).some((call) => call.exit === 1 && call.stdout.includes(code) && sameCall(recorded, call)?.exit === 0)
}

/** Whether an ADD succeeds here that has failed with a text of upstream. */
function succeedsAlone(own: Case, recorded: Case, text: RegExp): boolean {
  return adds(recorded).some((call) => call.exit !== 0 && text.test(call.stdout) && sameCall(own, call)?.exit === 0)
}

/** Whether one Pod has two interfaces. */
function hasTwoInterfaces(one: Case): boolean {
  return adds(one).some((call) => adds(one).some((other) => other.pod === call.pod && other.ifname !== call.ifname))
}

/**
 * Whether an interface of one Pod is added by two containers. Steps can make the row of the first.
 */
function hasTwoContainers(one: Case): boolean {
  const made = madePools(one).flatMap((pool) => readRows(pool).rows)
  return adds(one).some(
    (call) =>
      (call.container.includes('$') && !call.pod.includes('$')) ||
      adds(one).some((other) => isSamePod(other, call) && other.container !== call.container) ||
      made.some(({ id, podref }) => podref.endsWith(`/${call.pod}`) && id !== call.container),
  )
}

function isSamePod(left: StepCall, right: StepCall): boolean {
  return left.pod === right.pod && left.ifname === right.ifname
}

function givesGateway({ text, addresses }: StepCall): boolean {
  const kept = [...text.matchAll(/"gateway":"([^"]+)"/g)].map(([, gateway]) => gateway)
  return addresses.some((address) => kept.includes(address.replace(/\/.*/, '')))
}

/** Whether keys of a pool count from an address that is not that of the range in its name. */
function isOfAnotherBase({ metadata, spec }: IPPool): boolean {
  const range = Prefix.safeParse(spec.range)
  if (!range.ok) return true
  const masked = Prefix.format(Prefix.masked(range.value))
  return masked !== spec.range || !metadata.name.endsWith(masked.replaceAll(/[:/]/g, '-'))
}

/** Keys that upstream does not read, or does not write back as they are. */
function hasOddKey(one: Case): boolean {
  return keysIn(one).some(({ key, pool }) => {
    if (!/^(0|[1-9]\d*)$/.test(key)) return true
    return BigInt(key) >= (pool.spec.range.includes(':') ? 2n ** 63n : 2n ** 32n)
  })
}

/** Whether steps have made a row for an ADD whose address no range gives. */
function hasUnusableRow({ recorded }: Difference): boolean {
  return madePools(recorded).some((pool) => {
    const { range, rows } = readRows(pool)
    if (range === undefined) return false
    const [first, last] = [Prefix.first(range), Prefix.last(range)]
    return rows.some(({ address, podref }) => {
      const isEdge = [first, last].some((edge) => Address.equals(edge, address))
      return (
        (isEdge || !Prefix.contains(range, address)) && adds(recorded).some(({ pod }) => podref.endsWith(`/${pod}`))
      )
    })
  })
}
