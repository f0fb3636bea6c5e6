import { age, type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { flag, kubeObject, list, mapOf, object, text } from '../meta/strict.js'
import { API_VERSION } from './names.js'

// Of kinds with hundreds of fields these are the few that IPAM reads. Other fields pass through, in
// models and on an API server.

/** A virtual machine, which can be stopped and started (kubevirt.io/v1). */
export interface VirtualMachine extends KubeObject {
  readonly spec: VirtualMachineSpec
}

export interface VirtualMachineSpec {
  /** What its instance is made from. */
  readonly template: { readonly spec?: VirtualMachineInstanceSpec | undefined }
}

/**
 * A virtual machine that runs (kubevirt.io/v1). That of a VirtualMachine has its name. One without
 * a VirtualMachine exists too: users make it, and a migration between clusters does.
 */
export interface VirtualMachineInstance extends KubeObject {
  readonly spec: VirtualMachineInstanceSpec
  readonly status?: VirtualMachineInstanceStatus | undefined
}

export interface VirtualMachineInstanceSpec {
  readonly networks?: readonly VMNetwork[] | undefined
  readonly domain?:
    | { readonly devices?: { readonly interfaces?: readonly VMInterface[] | undefined } | undefined }
    | undefined
}

export interface VirtualMachineInstanceStatus {
  /** The Pods that run it: from the UID of each to its Node. A migration has two. */
  readonly activePods?: { readonly [uid: string]: string } | undefined
}

/** A network of a virtual machine. It has one source. */
export interface VMNetwork {
  /** The name in the spec, which its interface has too. */
  readonly name: string
  /** Left out: the source is not the network of the Pod. */
  readonly pod?: object | undefined
  readonly multus?: VMMultusNetwork | undefined
}

/** The source of a {@link VMNetwork}: a NetworkAttachmentDefinition. */
export interface VMMultusNetwork {
  /** `namespace/name` of the NetworkAttachmentDefinition, or a name in the namespace of the VM. */
  readonly networkName: string
  /** Whether it is in place of the network of the Pod. Left out: false. */
  readonly default?: boolean | undefined
}

/** An interface of a virtual machine. */
export interface VMInterface {
  /** The name of its {@link VMNetwork}. */
  readonly name: string
  readonly macAddress?: string | undefined
  /** `absent`: the interface is unplugged. Other texts are of its link. */
  readonly state?: string | undefined
}

/** The subset as a definition: an API server that has it keeps all other fields as they are. */
export const VirtualMachine: CrdModel<VirtualMachine> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'VirtualMachine',
    plural: 'virtualmachines',
    namespaced: true,
    statusSubresource: true,
  },
  schema: readerOf(virtualMachine),
  shortNames: ['vm', 'vms'],
  categories: ['all'],
  versions: [{ apiVersion: API_VERSION, columns: [age('machine')], schema: virtualMachine }],
})

/**
 * The subset as a definition: an API server that has it keeps all other fields as they are. An
 * update writes the status too, as in KubeVirt.
 */
export const VirtualMachineInstance: CrdModel<VirtualMachineInstance> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'VirtualMachineInstance',
    plural: 'virtualmachineinstances',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(virtualMachineInstance),
  shortNames: ['vmi', 'vmis'],
  categories: ['all'],
  versions: [{ apiVersion: API_VERSION, columns: [age('instance')], schema: virtualMachineInstance }],
})

const REST = { keepsUnknown: true } as const

function virtualMachine() {
  const template = object('What the instance is made from.', { spec: instanceSpec().optional() }, REST)
  return kubeObject('A virtual machine, which can be stopped and started.', {
    spec: object('The machine.', { template }, REST),
    status: object('What is observed.', {}, REST).optional(),
  })
}

function virtualMachineInstance() {
  const pods = mapOf('The pods that run it, with their nodes.', text('The name of the node.'))
  return kubeObject('A virtual machine that runs.', {
    spec: instanceSpec(),
    status: object('What is observed.', { activePods: pods.optional() }, REST).optional(),
  })
}

function instanceSpec() {
  const name = 'The name of the network in this spec.'
  const multus = object('A NetworkAttachmentDefinition.', {
    networkName: text('Its namespace and name, or its name in this namespace.'),
    default: flag('Whether it is in place of the network of the pod.').optional(),
  })
  const network = object(
    'A network.',
    { name: text(name), pod: object('The network of the pod.', {}, REST).optional(), multus: multus.optional() },
    REST,
  )
  const nic = object(
    'An interface.',
    {
      name: text(name),
      macAddress: text('Its MAC address.').optional(),
      state: text('The state of the link, or absent.').optional(),
    },
    REST,
  )
  const devices = object('The devices.', { interfaces: list('The interfaces.', nic).optional() }, REST)
  const domain = object('The hardware.', { devices: devices.optional() }, REST)
  return object(
    'The instance.',
    { networks: list('The networks.', network).optional(), domain: domain.optional() },
    REST,
  )
}
