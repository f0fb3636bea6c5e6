import { VM_POD_ANNOTATION } from '../../../crd/kubevirt/index.js'
import { compareAge } from '../../../plan/cached-objects.js'
import { interfacesOf, nameOfPod, type PodInterface } from './networks.js'
import { podStage } from './pod-stage.js'
import type { ServingOptions } from './serving-context.js'
import { macDigits, type ServedPod, type ServingCache } from './watches.js'

/**
 * The Pod that has the MAC address that an interface asks for, in the same network; `undefined`:
 * none does. Of two Pods that ask for one, the older one has it. Pods of one machine, and Pods that
 * name one claim, share it: a live migration has two.
 */
export function macHolder(
  served: ServedPod,
  { attachment, network, has }: PodInterface,
  cache: ServingCache,
  options: ServingOptions,
): string | undefined {
  const mac = attachment.mac && macDigits(attachment.mac)
  if (mac === undefined || mac === '' || (has?.mac !== undefined && macDigits(has.mac) === mac)) return undefined
  const holder = cache.pods.by('mac', mac).find((other) => {
    if (podStage(other.pod) !== 'served' || isOneUser(served, other, attachment.claim)) return false
    return interfacesOf(other, cache, options).interfaces.some((its) => {
      if (its.network.definition.name !== network.definition.name) return false
      if (its.has?.mac !== undefined && macDigits(its.has.mac) === mac) return true
      const asks = its.attachment.mac !== undefined && macDigits(its.attachment.mac) === mac
      return asks && compareAge(other.pod, served.pod) < 0
    })
  })
  return holder && `Pod ${nameOfPod(holder)}`
}

function isOneUser(served: ServedPod, other: ServedPod, claim: string | undefined): boolean {
  const [own, its] = [served.pod.metadata, other.pod.metadata]
  if (own.namespace !== its.namespace) return false
  const machine = own.annotations?.[VM_POD_ANNOTATION]
  const isMachine = machine !== undefined && machine === its.annotations?.[VM_POD_ANNOTATION]
  const sharesClaim = claim !== undefined && other.claims.includes(`${own.namespace ?? ''}/${claim}`)
  return own.name === its.name || isMachine || sharesClaim
}
