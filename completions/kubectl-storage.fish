# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kubectl_storage_global_optspecs
    string join \n kubeconfig= context= cluster= user= as= as-group= as-uid= s/server= token= certificate-authority= client-certificate= client-key= insecure-skip-tls-verify tls-server-name= disable-compression request-timeout= chunk-size= h/help
end

function __fish_kubectl_storage_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kubectl_storage_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kubectl_storage_using_subcommand
    set -l cmd (__fish_kubectl_storage_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "audit" -d 'Report what is wrong with volumes and claims; changes nothing'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "gc" -d 'Reclaim volumes that nobody needs any more: their disks are deleted by their own drivers'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "fix-finalizers" -d 'Repair volumes, claims and attachments that hang on finalizers, e.g. after a rollback'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "retain" -d 'Stop whatever would destroy a volume: set its reclaim policy to Retain, now'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "apply" -d 'Carry out a plan that was saved with --plan-out'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "destroy-orphan" -d 'Have a driver delete a backend volume that no volume names any more'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "undo" -d 'Reverse what an entry of the journal changed, where Kubernetes allows it'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "journal" -d 'List what was done, and what became of it'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "dump" -d 'Save what an audit needs to a file, for offline work'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "explain" -d 'Explain a finding, or why an object is in its state and what would happen if'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "rbac" -d 'Print the smallest cluster role for a command, or check what is lacking'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "version" -d 'Print the version'
complete -c kubectl-storage -n "__fish_kubectl_storage_needs_command" -f -a "completion" -d 'Print a completion script, or make kubectl complete the plugin'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s f -l filename -d 'Read a saved dump instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l taken-at -d 'When the dump was taken, if it does not say so itself' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l complete -d 'Assert that the dump holds every object of these kinds, or of `all`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l save -d 'Save exactly what this audit saw, for `audit -f`' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s n -l namespace -d 'Only claims of this namespace, and volumes whose claim is or was there' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s l -l selector -d 'Only objects with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l rule -d 'Only these findings; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l ignore -d 'Not these findings; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l older-than -d 'How long a volume must have been Released [default: 7d]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l threshold -d 'Change a threshold, such as stuck=2h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l driver-absent -d 'Assert that a driver is permanently removed; ignored while any trace of it is found; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l record-namespace -d 'The namespace of the cluster\'s record of kept backends' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l fail-on -d 'Exit with code 3 if there is a finding of this severity or worse' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s o -l output -d 'Output format: table, wide, json, yaml, name, jsonpath=…, custom-columns=…' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l sort-by -d 'Sort findings by a JSONPath expression, such as .age.seconds' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s A -l all-namespaces -d 'The whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l no-headers -d 'Do not print headers'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s v -l verbose -d 'Also tell how many objects of each kind were read'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand audit" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l older-than -d 'How long a volume must have been Released, such as 7d' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s n -l namespace -d 'Only volumes whose claim was in this namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s l -l selector -d 'Only volumes with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l storage-class -d 'Only volumes of this storage class' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l driver -d 'Only volumes of this driver' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l record-namespace -d 'The namespace of the cluster\'s record of kept backends' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l provisioner-alive -d 'Assert that the provisioner of a driver is running although nothing shows it; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l backend-exclusive -d 'Your word that nobody else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l threshold -d 'Change a threshold, such as delete-wait=10m; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s f -l filename -d 'Plan for what a saved dump shows, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l taken-at -d 'When a dump was taken, if it does not tell' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l complete -d 'Kinds of which the dump holds every object, or `all`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s A -l all-namespaces -d 'The whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l keep-backend -d 'Only drop the volume object; the backend volume stays, and our record names it'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l journal-only -d 'Leave the record of kept backends to the journal of this machine'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-unknown-age -d 'Also volumes of which nothing trustworthy tells since when they have been Released'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-recreated -d 'Also volumes whose claim was deleted and created again'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l backend-verified -d 'Also volumes whose deletion was stopped half way: your word that the backend volume is whole'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l include-wanted -d 'Also volumes whose claim is gone and wanted by a workload'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l destroy-snapshots -d 'Also volumes whose snapshots are, or may be, destroyed with them'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l destroy-data -d 'Destroy a named volume that is Available although it was used before'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand gc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s n -l namespace -d 'Only claims of this namespace, and volumes whose claim was there; of named claims, the namespace' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s l -l selector -d 'Only objects with these labels' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l driver-absent -d 'Your word that a driver, or kube-controller-manager, is gone for good; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l backend-exclusive -d 'Your word that nobody else uses the storage of this volume (pv/NAME) or of all volumes of this driver; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l remove-finalizer -d 'Remove this finalizer of somebody else from the one object that is named' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l from -d 'The manifest of the volume that a named attachment waits for: a file, or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l secret -d 'The secret with which the driver deletes a volume, where nothing else tells' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l record-namespace -d 'The namespace of the cluster\'s record of kept backends' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l threshold -d 'Change a threshold, such as finalizer=1h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s f -l filename -d 'Plan for what a saved dump shows, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l taken-at -d 'When a dump was taken, if it does not tell' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l complete -d 'Kinds of which the dump holds every object, or `all`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s A -l all-namespaces -d 'The whole cluster, which is the default'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l rolled-back -d 'Your word that `HonorPVReclaimPolicy` is off in kube-controller-manager'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l accept-leak -d 'Where a removal leaks the backend volume, leave it behind; our record names it from then on'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l reclaim -d 'Where a removal would leak the backend volume, have its driver delete it afterwards'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l destroy-snapshots -d 'Also volumes whose snapshots are, or may be, destroyed with them'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l keep-data -d 'Of a claim that is let go, keep the data: its volume is set to Retain first'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l destroy-data -d 'Of a claim that is let go, let the data be destroyed as its volume\'s policy says'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l no-secret -d 'Your word that the driver needs no secret to delete a volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l journal-only -d 'Leave the record of backend volumes left behind to the journal of this machine'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand fix-finalizers" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s n -l namespace -d 'The namespace of the claims [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s f -l filename -d 'Plan for what a saved dump shows, and change nothing: a file, a folder or - for stdin' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand retain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max-plan-age -d 'How old the plan may be' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l driver -d 'The CSI driver of the backend volume' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l handle -d 'Its volume handle' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l from-journal -d 'The backend volume that this entry of the journal kept' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l secret -d 'The secret with which the driver deletes a volume, where nothing else tells' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l backend-exclusive -d 'Your word that no other cluster uses the backend of this driver'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l destroy-snapshots -d 'Also if its snapshots are, or may be, destroyed with it'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l no-secret -d 'Your word that the driver needs no secret to delete a volume'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand destroy-orphan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l dry-run -d 'Only show what would be done: `client` plans, `server` also has the API server look at each request' -r -f -a "none\t'Not at all'
client\t'Plan, and send nothing'
server\t'Send every request with dryRun=All'"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l plan-out -d 'Save the plan, for `apply`, and change nothing' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l max -d 'Refuse everything if more than this many objects would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l max-percent -d 'Refuse everything if more than this share of all volumes would be changed' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l parallel -d 'Make N changes at the same time, also of one driver [default: one of each driver]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l wait -d 'Wait until what follows a change is verified' -r -f -a "true\t''
false\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l timeout -d 'How long to wait for each change; 0 means the threshold delete-wait, which is 5m' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l field-manager -d 'The name under which the API server notes who changed what' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s o -l output -d 'Output format: table, json, yaml or name' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s y -l yes -d 'Answer the question with yes. Never stands in for a flag that names a danger'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l no-events -d 'Write no Events about what is done'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s o -l output -d 'Output format: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l open -d 'Only entries of which it is not known what became of them'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l all -d 'The journals of all clusters that are on this machine, without asking any cluster'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand journal" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l record-namespace -d 'The namespace of the cluster\'s record of kept backends' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand dump" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s n -l namespace -d 'The namespace of the object [default: that of the context]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s f -l filename -d 'Read a saved dump instead of a cluster: a file, a folder or - for stdin; can be repeated' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l taken-at -d 'When the dump was taken, if it does not say so itself' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l complete -d 'Assert that the dump holds every object of these kinds, or of `all`' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l older-than -d 'How long a volume must have been Released [default: 7d]' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l threshold -d 'Change a threshold, such as stuck=2h; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l driver-absent -d 'Assert that a driver is permanently removed; ignored while any trace of it is found; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l record-namespace -d 'The namespace of the cluster\'s record of kept backends' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s o -l output -d 'Output format of an object\'s explanation: table, json or yaml' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand explain" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l secret -d 'Also let it ask whether this secret, which a driver deletes volumes with, exists; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l check -d 'Say what the current user lacks, instead of printing the role'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand rbac" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s o -l output -d 'Output format: json or yaml' -r -f -a "json\t''
yaml\t''"
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand version" -s h -l help -d 'Print help'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l kubeconfig -d 'Path to the kubeconfig file to use' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l context -d 'The name of the kubeconfig context to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l cluster -d 'The name of the kubeconfig cluster to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l user -d 'The name of the kubeconfig user to use' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as -d 'Username to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as-group -d 'Group to impersonate; can be repeated' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l as-uid -d 'UID to impersonate' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -s s -l server -d 'The address and port of the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l token -d 'Bearer token for authentication to the API server' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l certificate-authority -d 'Path to a cert file for the certificate authority' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l client-certificate -d 'Path to a client certificate file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l client-key -d 'Path to a client key file for TLS' -r -F
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l tls-server-name -d 'Server name to use for server certificate validation' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l request-timeout -d 'How long to wait for one request: seconds or a duration; 0 means for ever' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l chunk-size -d 'Objects per request; 0 asks for everything at once' -r
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l insecure-skip-tls-verify -d 'Do not check the validity of the server\'s certificate: this makes the connection insecure'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -l disable-compression -d 'Opt out of response compression'
complete -c kubectl-storage -n "__fish_kubectl_storage_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
