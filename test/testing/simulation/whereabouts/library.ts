import { Address } from 'ipam-kit/cidr'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner, Task } from 'ipam-kit/plan'
import {
  type AddOutcome,
  add,
  type CheckOutcome,
  type CheckRequest,
  check,
  type DelOutcome,
  del,
  type GcRequest,
  gc,
  type InterfaceRequest,
  readWhereaboutsConfig,
  type WhereaboutsGcOutcome,
  whereaboutsSweep,
} from 'ipam-kit/provider/whereabouts'
import { NAMESPACE, PODS } from './kinds.js'
import type { Answer, Call } from './kubelet.js'
import { configOf } from './networks.js'

/** How the controllers of a schedule are set up. */
export interface ControllerOptions {
  readonly graceSeconds: number
  readonly completedPods: 'keep' | 'free'
  readonly createReservations: boolean
}

/** What is tested: the tasks and controllers of `ipam-kit/provider/whereabouts`. */
export interface Library {
  readonly task: (call: Call) => Task
  readonly answerOf: (call: Call, outcome: Outcome) => Answer
  readonly planners: (options: ControllerOptions) => readonly (() => Planner)[]
}

/** The commands that a plugin carries out. */
export interface Commands {
  readonly add: (request: InterfaceRequest) => Task
  readonly del: (request: InterfaceRequest) => Task
  readonly check: (request: CheckRequest) => Task
  readonly gc: (request: GcRequest) => Task
}

export const library: Library = {
  task: (call) => taskOf(call, { add, del, check, gc }),
  answerOf: (_, outcome) => answerOf(outcome as AddOutcome | DelOutcome | CheckOutcome | WhereaboutsGcOutcome),
  planners: (options) => [() => whereaboutsSweep({ namespace: NAMESPACE, ...options })],
}

export function taskOf(call: Call, commands: Commands): Task {
  const { verb, attachment } = call
  const request = requestOf(call)
  switch (verb) {
    case 'ADD':
      return commands.add(request)
    case 'DEL':
      return commands.del(request)
    case 'CHECK':
      return commands.check({
        ...request,
        addresses: (attachment.granted ?? []).map((text) => Address.parse(text)),
      })
    case 'GC':
      return commands.gc({
        ...request,
        valid: call.valid?.map(({ sandbox, ifname }) => ({ containerId: sandbox.id, ifname })),
        record: call.record,
      })
  }
}

function requestOf({ verb, attachment }: Call): InterfaceRequest & { readonly nodeName: string } {
  const { network, claim, sandbox, ifname } = attachment
  const { name, uid, node } = sandbox.pod
  const args = { K8S_POD_NAME: name, K8S_POD_NAMESPACE: PODS }
  const use = verb === 'ADD' ? 'allocate' : 'release'
  const config = unwrap(readWhereaboutsConfig(configOf(network, claim), { args, use }))
  const pod = { podNamespace: PODS, podName: name, podUid: uid, nodeName: node }
  return { config, namespace: NAMESPACE, containerId: sandbox.id, ifname, ...pod }
}

function answerOf(outcome: AddOutcome | DelOutcome | CheckOutcome | WhereaboutsGcOutcome): Answer {
  switch (outcome.kind) {
    case 'allocated': {
      const prefixes = outcome.addresses.map(({ prefix }) => prefix)
      return {
        kind: 'addresses',
        addresses: prefixes.map(({ address }) => Address.format(address)),
        lengths: prefixes.map(({ length }) => length),
      }
    }
    case 'released':
    case 'kept':
    case 'nothing':
    case 'present':
    case 'collected':
    case 'off':
      return { kind: 'done' }
    default:
      return { kind: 'failed', why: `${outcome.kind}: ${outcome.message}` }
  }
}
