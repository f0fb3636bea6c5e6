/** The only version that is served by every release. */
export const API_VERSION = 'kubevirt.io/v1'

/** Annotation of a Pod: the name of the VirtualMachineInstance that runs in it. */
export const VM_POD_ANNOTATION = 'kubevirt.io/domain'
/**
 * Annotation of a VirtualMachineInstance: the addresses that it asks for, as JSON. The addresses of
 * a network are a list without prefix lengths: `{"blue":["10.0.0.7"]}`.
 */
export const ADDRESSES_ANNOTATION = 'network.kubevirt.io/addresses'
